import { addressGroup } from "./address-group";
import type { AuditEntry } from "./audit";

const MINUTE_MS = 60_000;
/** Callers with audit lines of their own within a minute; denials of further callers share one line. */
const MOST_CALLERS = { anonymous: 100, known: 1000 } as const;

interface Counted {
  readonly entry: AuditEntry;
  repeated: number;
}

/**
 * Limits the audit lines of denials. Denials with the same caller, action, reason and tenant are grouped; an anonymous
 * caller is identified by its address. The first denial of a minute is written at once. At the end of the minute, one
 * more line records the number of repetitions. A crash loses that number.
 */
export class CountedAudit {
  private minute = new Map<string, Counted>();
  private anonymous = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly write: (entry: AuditEntry) => Promise<void>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Records a denial. Rejects if the denial is the first of its group and could not be written. */
  async add(sent: AuditEntry): Promise<void> {
    const { key, entry } = this.groupOf(sent);
    const known = this.minute.get(key);
    if (known) {
      known.repeated += 1;
      return;
    }
    this.minute.set(key, { entry, repeated: 0 });
    if (entry.actorKind === "anonymous") this.anonymous += 1;
    this.timer ??= setTimeout(() => void this.flush(), MINUTE_MS).unref();
    await this.write(entry);
  }

  /** Writes the counts of this minute and begins the next one. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const over = [...this.minute.values()].filter(({ repeated }) => repeated > 0);
    this.minute = new Map();
    this.anonymous = 0;
    for (const { entry, repeated } of over) {
      const { detail, requestId: _, ...rest } = entry;
      await this.write({ ...rest, detail: { ...detail, repeated } }).catch(this.onError);
    }
  }

  /** Returns the group of a denial, and the audit entry that represents the group. */
  private groupOf(entry: AuditEntry): { key: string; entry: AuditEntry } {
    const { actorKind, actorId, action, reason, tenantId, ip } = entry;
    const isAnonymous = actorKind === "anonymous";
    const caller = isAnonymous ? addressGroup(ip ?? null) : actorId;
    const key = [actorKind, caller, action, reason, tenantId].join("|");
    const isFull = isAnonymous
      ? this.anonymous >= MOST_CALLERS.anonymous
      : this.minute.size - this.anonymous >= MOST_CALLERS.known;
    if (!isFull || this.minute.has(key)) return { key, entry };
    const { severity = "low" } = entry;
    const shared = { actorKind: "anonymous", action, severity, success: false, reason: "many-callers" } as const;
    return { key: `others|${action}`, entry: shared };
  }
}
