import { DatabaseError } from "@/lib/db";

/** Refusals of SQL functions, by the `errcode` that they raise (drizzle/functions). */
const REFUSALS = {
  LH001: "tenant-suspended",
  /** Since it was read, the definition has got another version or another queue, or was disabled. */
  LH002: "definition-changed",
  LH003: "queue-unknown",
  LH004: "parent-missing",
} as const;

export type DbRefusal = (typeof REFUSALS)[keyof typeof REFUSALS];

const byCode: ReadonlyMap<string | undefined, DbRefusal> = new Map(Object.entries(REFUSALS));

/** Returns the refusal of a SQL function, or null for any other error. */
export const dbRefusal = (error: unknown): DbRefusal | null =>
  error instanceof DatabaseError ? (byCode.get(error.code) ?? null) : null;
