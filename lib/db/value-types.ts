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
let lastText = "";
let lastValue: unknown;

/** As pg does it. What is written in one statement often has one instant: the same text is read once. */
function parseInstant(text: string): unknown {
  if (text !== lastText) {
    lastValue = parseTimestamp(text);
    lastText = text;
  }
  // Whoever gets a Date may change it.
  return lastValue instanceof Date ? new Date(lastValue) : lastValue;
}

/** timestamptz becomes Date and jsonb is parsed, as pg does; numeric stays text, because it may not fit a number. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary"): Parser => {
    if (oid === INT8 && format !== "binary") return parseBigint;
    if (oid === TIMESTAMPTZ && format !== "binary") return parseInstant;
    return pg.types.getTypeParser(oid, format as "text") as Parser;
  }) as pg.CustomTypesConfig["getTypeParser"],
};
