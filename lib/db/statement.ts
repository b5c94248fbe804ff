import { createHash } from "node:crypto";
import { dropFence } from "@/lib/env/test-build";
import type { Statement } from "./types";

const MAX_IDENTIFIER = 63;
const HASH_LENGTH = 8;

/**
 * Names a SQL text. Values go through `$1 …` only. `repeatable` says that running it twice does no harm (a read), so
 * that it may be sent again when the connection broke under it.
 */
export function statement(name: string, given: string, options: { repeatable?: boolean } = {}): Statement {
  const text = dropFence() ? withoutFence(given) : given;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
  const stem = name.slice(0, MAX_IDENTIFIER - HASH_LENGTH - 1);
  return Object.freeze({ name: `${stem}_${hash}`, text, repeatable: options.repeatable ?? false });
}

/** The name that a statement was given, without its hash. */
export const stemOf = (name: string): string => name.slice(0, -HASH_LENGTH - 1);

/**
 * A text in which any lease number will do, and whose claim does not look whether a job is held. The parameters stay
 * used, so that their types are known to the server.
 */
export function withoutFence(text: string): string {
  return text
    .replace(
      /(?<=\b(?:and|where|on) )(\w*\.?lease_no) = (\w+\.lease_no|\$\d+)/g,
      (_equal, one: string, other: string) =>
        `(${one} is not null or ${other}${other.startsWith("$") ? "::bigint" : ""} is not null)`,
    )
    .replace(/ and ready(?= and sort_key)/g, "");
}
