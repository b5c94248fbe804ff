import pg from "pg";

type Parser = (value: string) => unknown;

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** bigint as a number while that is exact; beyond 2^53 it stays the text the server sent. */
function parseBigint(value: string): number | string {
  const parsed = Number(value);
  return Number.isSafeInteger(parsed) ? parsed : value;
}

const parseTimestamp = pg.types.getTypeParser(TIMESTAMPTZ, "text") as Parser;
/** The last two instants that were read, the newer one first. */
let newer: { readonly text: string; readonly value: unknown } = { text: "", value: undefined };
let older = newer;

/**
 * As pg does it. Rows of one statement often have the same instants, such as when they were claimed and until when: the
 * same text is read once.
 */
function parseInstant(text: string): unknown {
  if (text !== newer.text) {
    const known = older.text === text ? older : { text, value: parseTimestamp(text) };
    older = newer;
    newer = known;
  }
  const { value } = newer;
  // Whoever gets a Date may change it.
  return value instanceof Date ? new Date(value) : value;
}

/** timestamptz becomes Date and jsonb is parsed, as pg does; numeric stays text, because it may not fit a number. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary"): Parser => {
    if (oid === INT8 && format !== "binary") return parseBigint;
    if (oid === TIMESTAMPTZ && format !== "binary") return parseInstant;
    return pg.types.getTypeParser(oid, format as "text") as Parser;
  }) as pg.CustomTypesConfig["getTypeParser"],
};
