/**
 * Header of requests that a page sends on its own (polls, live updates), without an action of its user. Such a request
 * does not keep a session from going idle. In a file without zod, because pages import it.
 */
export const BACKGROUND_HEADER = "leasehold-background";
