/** Stored text of one page of output, attempts or steps, in UTF-8 bytes: what web masks and sends without holding others up. */
export const PAGE_BYTES = 512 * 1024;
