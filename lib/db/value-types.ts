import pg from "pg";

type Parser = (value: string) => unknown;

const INT8 = 20;
const TIMESTAMPTZ = 1184;

/** Parses bigint to a number while that is exact; beyond 2^53 the server's text is returned. */
function parseBigint(value: string): number | string {
  const parsed = Number(value);
  return Number.isSafeInteger(parsed) ? parsed : value;
}

const parseTimestamp = pg.types.getTypeParser(TIMESTAMPTZ, "text") as Parser;
/** The last two instants that were parsed, the newer one first. */
let newer: { readonly text: string; readonly value: unknown } = { text: "", value: undefined };
let older = newer;

/**
 * Parses as pg does, with a cache of two texts, because rows of one statement often share instants (claimed at, lease
 * until).
 */
function parseInstant(text: string): unknown {
  if (text !== newer.text) {
    const known = older.text === text ? older : { text, value: parseTimestamp(text) };
    older = newer;
    newer = known;
  }
  const { value } = newer;
  // A copy, because callers may change a Date.
  return value instanceof Date ? new Date(value) : value;
}

/** Returns the RFC 3339 text of an instant, in UTC with milliseconds. `infinity` stays as it is. */
function toRfc3339(text: string): unknown {
  const value = parseInstant(text);
  return value instanceof Date ? value.toISOString() : value;
}

const typesWith = (timestamptz: Parser): pg.CustomTypesConfig => ({
  getTypeParser: ((oid: number, format?: "text" | "binary"): Parser => {
    if (oid === INT8 && format !== "binary") return parseBigint;
    if (oid === TIMESTAMPTZ && format !== "binary") return timestamptz;
    return pg.types.getTypeParser(oid, format as "text") as Parser;
  }) as pg.CustomTypesConfig["getTypeParser"],
});

/** Parses timestamptz to Date and jsonb to a value, as pg does. numeric stays text, because it may not fit a number. */
export const valueTypes = typesWith(parseInstant);
/** Like `valueTypes`, but parses timestamptz to the RFC 3339 text that the API answers. */
export const answerTypes = typesWith(toRfc3339);
