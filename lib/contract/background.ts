/**
 * Header of requests that a page sends by itself (polls, live updates), not because its person did something. Such a request
 * does not keep a session from going idle. In a file without zod, because pages import it.
 */
export const BACKGROUND_HEADER = "leasehold-background";
