import { type Runner, statement } from "@/lib/db";

export type Severity = "low" | "medium" | "high" | "critical";

/** One line of the security audit. Never put a secret, a payload or a value that a client sent into `detail`. */
export interface AuditEntry {
  readonly tenantId?: string | null;
  readonly actorKind: "user" | "api_key" | "system" | "anonymous";
  readonly actorId?: string | null;
  readonly action: string;
  readonly severity?: Severity;
  readonly objectKind?: string;
  readonly objectId?: string;
  readonly success: boolean;
  readonly reason?: string;
  readonly detail?: Readonly<Record<string, string | number | boolean | null | readonly string[]>>;
  readonly requestId?: string | null;
  readonly ip?: string | null;
  readonly userAgent?: string | null;
}

const insertAudit = statement(
  "auth_insert_audit",
  `insert into app.security_audit (tenant_id, actor_kind, actor_id, action, severity, object_kind, object_id, success,
     reason, detail, request_id, ip, user_agent)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11, $12, $13)`,
);

/**
 * Writes to the append-only security audit. Give the transaction of the change itself, so that no change goes without
 * its line; denials and logins are written on their own.
 */
export async function writeAudit(db: Runner, entry: AuditEntry): Promise<void> {
  await db.run(insertAudit, [
    entry.tenantId ?? null,
    entry.actorKind,
    entry.actorId ?? null,
    entry.action,
    entry.severity ?? "low",
    entry.objectKind ?? null,
    entry.objectId ?? null,
    entry.success,
    entry.reason ?? null,
    JSON.stringify(entry.detail ?? {}),
    entry.requestId ?? null,
    entry.ip ?? null,
    entry.userAgent?.slice(0, 500) ?? null,
  ]);
}
