import { createHash } from "node:crypto";
import { dropFence } from "@/lib/env/test-build";
import type { Statement } from "./types";

const MAX_IDENTIFIER = 63;
const HASH_LENGTH = 8;

/** The statements of this process by the name that each was given, for the test that compares them with the database. */
export const madeStatements = new Map<string, Statement>();

/**
 * Names a SQL text. Pass values only as `$1 …`. `repeatable` marks a statement that is safe to run twice (a read), so
 * it may be resent when its connection breaks. `answers` marks one whose rows the API answers: its instants are RFC 3339
 * text.
 */
export function statement(
  name: string,
  given: string,
  { repeatable = false, answers = false }: { repeatable?: boolean; answers?: boolean } = {},
): Statement {
  const text = dropFence() ? withoutFence(given) : given;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);
  const stem = name.slice(0, MAX_IDENTIFIER - HASH_LENGTH - 1);
  const made = Object.freeze({ name: `${stem}_${hash}`, text, repeatable, answers });
  madeStatements.set(name, made);
  return made;
}

/** Returns the name that a statement was given, without its hash. */
export const stemOf = (name: string): string => name.slice(0, -HASH_LENGTH - 1);

/**
 * Returns the text with lease checks removed: any lease number matches, and a claim does not check whether a job is
 * ready. The parameters stay referenced, so that the server can infer their types. For tests.
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
