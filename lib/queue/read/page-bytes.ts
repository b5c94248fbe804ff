/**
 * The most stored text of one page of output, attempts, steps or events, in UTF-8 bytes. web can mask and send that
 * much without delaying other requests.
 */
export const PAGE_BYTES = 512 * 1024;
