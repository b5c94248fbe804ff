import { securityAudit } from "@/drizzle/schema";
import type { Runner } from "@/lib/db";
import { cutCharacters } from "@/lib/text/cut-characters";

export type Severity = "low" | "medium" | "high" | "critical";

/** One entry of the security audit. `detail` must never hold a secret, a payload or a value sent by a client. */
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

/**
 * Writes to the append-only security audit. Pass the transaction of the change, so that no change commits without its
 * entry. Denials and logins are written outside a transaction.
 */
export async function writeAudit(db: Runner, entry: AuditEntry): Promise<void> {
  await db.orm.insert(securityAudit).values({
    tenant_id: entry.tenantId ?? null,
    actor_kind: entry.actorKind,
    actor_id: entry.actorId ?? null,
    action: entry.action,
    severity: entry.severity ?? "low",
    object_kind: entry.objectKind ?? null,
    object_id: entry.objectId ?? null,
    success: entry.success,
    reason: entry.reason ?? null,
    detail: entry.detail ?? {},
    request_id: entry.requestId ?? null,
    ip: entry.ip ?? null,
    user_agent: entry.userAgent ? cutCharacters(entry.userAgent, 500) : null,
  });
}
