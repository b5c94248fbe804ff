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

/** Makes a change and its line in the security audit in one transaction: neither is ever there without the other. */
export function auditedChange<T>(
  context: ChangeContext,
  work: (db: Database) => Promise<T>,
  describe: (done: T) => Change,
): Promise<T> {
  const { db, actor, info } = context;
  return db.transaction(async (tx) => {
    const done = await work(within(db, tx));
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

/** A pool as seen from inside one of its transactions: whoever opens a transaction joins that one. */
export function within(pool: Database, tx: Transaction): Database {
  return { ...pool, run: tx.run, orm: tx.orm, transaction: (fn) => fn(tx) };
}
