import { DatabaseError } from "@/lib/db";

/** What SQL functions refuse, by the `errcode` that they raise (drizzle/functions). */
const REFUSALS = {
  LH001: "tenant-suspended",
  /** The definition has another version, was switched off, or its queue is another one since it was looked at. */
  LH002: "definition-changed",
  LH003: "queue-unknown",
  LH004: "parent-missing",
} as const;

export type DbRefusal = (typeof REFUSALS)[keyof typeof REFUSALS];

const byCode: ReadonlyMap<string | undefined, DbRefusal> = new Map(Object.entries(REFUSALS));

/** Returns what a SQL function refused, or null for any other error. */
export const dbRefusal = (error: unknown): DbRefusal | null =>
  error instanceof DatabaseError ? (byCode.get(error.code) ?? null) : null;
