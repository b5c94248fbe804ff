import pg from "pg";

type Parser = (value: string) => unknown;

const INT8 = 20;

/** bigint as a number while that is exact; beyond 2^53 it stays the text the server sent. */
function parseBigint(value: string): number | string {
  const parsed = Number(value);
  return Number.isSafeInteger(parsed) ? parsed : value;
}

/** timestamptz becomes Date and jsonb is parsed, as pg does; numeric stays text, because it may not fit a number. */
export const valueTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary"): Parser => {
    if (oid === INT8 && format !== "binary") return parseBigint;
    return pg.types.getTypeParser(oid, format as "text") as Parser;
  }) as pg.CustomTypesConfig["getTypeParser"],
};
