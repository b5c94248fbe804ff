import { z } from "zod";
import { DELIMITERS, QUOTES } from "./csv-dialect";
import { CSV_ENCODINGS } from "./csv-text";

/** Payload properties for the format of a CSV file; the reader detects those that are left out. */
export const csvOptions = {
  delimiter: z.enum(DELIMITERS).optional().describe("What stands between fields; found by looking when left out"),
  quote: z.enum(QUOTES).optional().describe("What fields are quoted with, or nothing; found by looking when left out"),
  encoding: z.enum(CSV_ENCODINGS).optional().describe("Found by looking when left out: a byte order mark, else UTF-8"),
  header: z.boolean().default(true).describe("The first line names the columns"),
};
