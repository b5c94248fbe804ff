import { z } from "zod";
import { DELIMITERS, QUOTES } from "./csv-dialect";
import { CSV_ENCODINGS } from "./csv-text";

/** Payload properties for the format of a CSV file; the reader detects those that are left out. */
export const csvOptions = {
  delimiter: z.enum(DELIMITERS).optional().describe("Field delimiter. Detected by default"),
  quote: z.enum(QUOTES).optional().describe("Quote character, or empty for none. Detected by default"),
  encoding: z.enum(CSV_ENCODINGS).optional().describe("Encoding. Default: that of the byte order mark, else UTF-8"),
  header: z.boolean().default(true).describe("The first line names the columns"),
};
