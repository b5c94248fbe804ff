import { securityAudit } from "@/drizzle/schema";
import type { Runner } from "@/lib/db";
import { cutCharacters } from "@/lib/text/cut-characters";

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

/**
 * Writes to the append-only security audit. Give the transaction of the change itself, so that no change goes without
 * its line; denials and logins are written on their own.
 */
export async function writeAudit(db: Runner, entry: AuditEntry): Promise<void> {
  await db.orm.insert(securityAudit).values({
    tenantId: entry.tenantId ?? null,
    actorKind: entry.actorKind,
    actorId: entry.actorId ?? null,
    action: entry.action,
    severity: entry.severity ?? "low",
    objectKind: entry.objectKind ?? null,
    objectId: entry.objectId ?? null,
    success: entry.success,
    reason: entry.reason ?? null,
    detail: entry.detail ?? {},
    requestId: entry.requestId ?? null,
    ip: entry.ip ?? null,
    userAgent: entry.userAgent ? cutCharacters(entry.userAgent, 500) : null,
  });
}
