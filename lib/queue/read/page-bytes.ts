/** Stored text of one page of output, attempts, steps or events, in UTF-8 bytes: what web masks and sends without holding others up. */
export const PAGE_BYTES = 512 * 1024;
