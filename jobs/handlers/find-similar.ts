import { z } from "zod";
import { defineJob, type HandlerContext, NonRetryableError } from "@/lib/execution";
import { cutCharacters } from "@/lib/text/cut-characters";
import { bytesOf } from "./bytes-of";
import { csvOptions } from "./csv-options";
import { type FoundCsv, readRows } from "./csv-rows";
import { keyOf, similarPairs, type Value } from "./similar-values";

const MOST_VALUES = 200_000;
const LONGEST_VALUE = 500;
/** Each takes up to four bytes, so this fits into the heap of a thread. */
const MOST_UNITS = 12_000_000;
const MOST_SHOWN = 500;
/** Limit on the pairs as JSON, because a larger result would be kept as a preview without its figures. */
const MOST_SHOWN_BYTES = 128 * 1024;

const payload = z.strictObject({
  provider_id: z.guid().describe("The registered folder that holds the file"),
  path: z.string().min(1).max(4096).describe("The CSV file, below that folder"),
  column: z.string().min(1).max(200).describe("The column whose values are compared"),
  max_distance: z.int().min(1).max(3).default(2).describe("How many letters may differ"),
  ...csvOptions,
});
type Context = HandlerContext<z.output<typeof payload>>;

/**
 * Finds nearly equal values in a column of a CSV file, such as misspelt names. Runs in a thread, because it computes
 * without a pause.
 */
export const findSimilar = defineJob({
  key: "find-similar",
  description:
    "Finds values of a CSV file's column that differ by a few letters only: misspelt names, double customers.",
  thread: true,
  timeoutSeconds: 7200,
  maxAttempts: 2,
  schema: payload,
  async run(ctx) {
    const { values, rows, rejected, found } = await readValues(ctx);
    const similar = [];
    let pairs = 0;
    let shownBytes = 0;
    const report = (share: number) => ctx.progress(100 * share, `${pairs} pairs among ${values.length} values`);
    for (const { first, second, distance } of similarPairs(values, ctx.payload.max_distance, report)) {
      pairs += 1;
      if (similar.length >= MOST_SHOWN || shownBytes >= MOST_SHOWN_BYTES) continue;
      const pair = { lines: [first.line, second.line], values: [first.text, second.text], distance };
      shownBytes += Buffer.byteLength(JSON.stringify(pair));
      similar.push(pair);
    }
    return { rows, rejected, distinct: values.length, pairs, similar, read_as: found };
  },
});

interface Found {
  readonly values: Value[];
  readonly rows: number;
  readonly rejected: number;
  readonly found: FoundCsv | null;
}

/** Returns the distinct values of the column, each with the first line where it occurs; empty ones are left out. */
async function readValues(ctx: Context): Promise<Found> {
  const { provider_id, path, column } = ctx.payload;
  const file = await ctx.openFile(provider_id, path);
  const values = new Map<string, Value>();
  let rows = 0;
  let rejected = 0;
  let units = 0;
  let found: FoundCsv | null = null;
  try {
    for await (const batch of readRows(bytesOf(file), ctx.payload)) {
      const at = batch.columns.indexOf(column);
      if (at < 0) throw wrong(`the file has no column ${JSON.stringify(column)}`);
      found = batch.found;
      rows += batch.rows.length;
      rejected += batch.rejects.length;
      for (const { line, json, fields } of batch.rows) {
        const text = fields ? (fields[at] ?? "") : String(JSON.parse(json)[column] ?? "");
        const cut = shorten(text);
        const key = keyOf(cut);
        if (key === "" || values.has(key)) continue;
        values.set(key, { line, text: cut, key });
        units += cut.length;
        if (units > MOST_UNITS) throw wrong(`the column's different values have more than ${MOST_UNITS} characters`);
      }
      if (values.size > MOST_VALUES) throw wrong(`the column has more than ${MOST_VALUES} different values`);
    }
  } finally {
    await file.close();
  }
  return { values: [...values.values()], rows, rejected, found };
}

function shorten(text: string): string {
  const cut = cutCharacters(text, LONGEST_VALUE);
  // A copy, because a part of a text keeps all of it in memory.
  return cut.length < text.length ? Buffer.from(cut, "utf16le").toString("utf16le") : text;
}

const wrong = (message: string): Error => new NonRetryableError(message, { errorType: "invalid_input" });
