import { type AuditEntry, writeAudit } from "@/lib/auth/audit";
import type { Database, Transaction } from "@/lib/db";
import type { Actor } from "@/lib/queue/types";
import type { RequestInfo } from "./http/request-info";

interface ChangeContext {
  readonly db: Database;
  readonly actor: Actor;
  readonly info: RequestInfo;
}

type Change = Pick<AuditEntry, "action" | "objectKind" | "detail" | "tenantId"> & { readonly objectId: string };

/** Makes a change and writes its audit line in one transaction, so neither exists without the other. */
export function auditedChange<T>(
  context: ChangeContext,
  work: (db: Database) => Promise<T>,
  describe: (done: T) => Change,
): Promise<T> {
  const { db, actor, info } = context;
  return db.transaction(async (tx) => {
    const done = await work(poolWithin(db, tx));
    await writeAudit(tx, {
      actorKind: actor.kind,
      actorId: actor.id,
      severity: "medium",
      success: true,
      requestId: info.id,
      ip: info.ip,
      userAgent: info.userAgent,
      ...describe(done),
    });
    return done;
  });
}

/** Returns the pool as seen inside one of its transactions: opening a transaction on it joins that one. */
export function poolWithin(pool: Database, tx: Transaction): Database {
  return { ...pool, run: tx.run, orm: tx.orm, transaction: (fn) => fn(tx) };
}
