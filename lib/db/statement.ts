import { createHash } from "node:crypto";
import type { Statement } from "./types";

const MAX_IDENTIFIER = 63;
const HASH_LENGTH = 8;

/**
 * Names a SQL text. Values go through `$1 …` only. `repeatable` says that running it twice does no harm (a read), so
 * that it may be sent again when the connection broke under it.
 */
export function statement(name: string, text: string, options: { repeatable?: boolean } = {}): Statement {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
  const stem = name.slice(0, MAX_IDENTIFIER - HASH_LENGTH - 1);
  return Object.freeze({ name: `${stem}_${hash}`, text, repeatable: options.repeatable ?? false });
}
