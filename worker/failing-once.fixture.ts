import type { Database, DatabaseError, Statement } from "@/lib/db";

/** The worker's database. The first statement that starts an attempt fails, either before or after it was stored. */
export function failingOnce(
  worker: Database,
  error: DatabaseError,
  { stored }: { readonly stored: boolean },
): Database {
  let failures = 1;
  return {
    ...worker,
    run: async <R extends object>(statement: Statement, values?: readonly unknown[]) => {
      if (!statement.name.startsWith("start_attempts") || failures-- <= 0) return worker.run<R>(statement, values);
      if (stored) await worker.run<R>(statement, values);
      throw error;
    },
  };
}
