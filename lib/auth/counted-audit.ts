import { addressGroup } from "./address-group";
import type { AuditEntry } from "./audit";

const MINUTE_MS = 60_000;
/** Callers whose denials are told apart within a minute; those of all others share one line. */
const CALLERS_MOST = { anonymous: 100, known: 1000 } as const;

interface Counted {
  readonly entry: AuditEntry;
  more: number;
}

/**
 * Audit lines of denials, bounded: of alike ones (caller, action, reason, tenant; of an anonymous caller its address) the
 * first of a minute is written at once, and one line with the number of the others when the minute is over. A crash loses
 * that number for one minute.
 */
export class CountedAudit {
  private minute = new Map<string, Counted>();
  private anonymous = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly write: (entry: AuditEntry) => Promise<void>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Records a denial. Rejects if the line of a first one could not be written. */
  async add(sent: AuditEntry): Promise<void> {
    const { key, entry } = this.place(sent);
    const known = this.minute.get(key);
    if (known) {
      known.more += 1;
      return;
    }
    this.minute.set(key, { entry, more: 0 });
    if (entry.actorKind === "anonymous") this.anonymous += 1;
    this.timer ??= setTimeout(() => void this.flush(), MINUTE_MS).unref();
    await this.write(entry);
  }

  /** Writes the numbers of this minute and begins another one. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const over = [...this.minute.values()].filter(({ more }) => more > 0);
    this.minute = new Map();
    this.anonymous = 0;
    for (const { entry, more } of over) {
      const { detail, requestId: _, ...rest } = entry;
      await this.write({ ...rest, detail: { ...detail, repeated: more } }).catch(this.onError);
    }
  }

  private place(entry: AuditEntry): { key: string; entry: AuditEntry } {
    const { actorKind, actorId, action, reason, tenantId, ip } = entry;
    const isAnonymous = actorKind === "anonymous";
    const caller = isAnonymous ? addressGroup(ip ?? null) : actorId;
    const key = [actorKind, caller, action, reason, tenantId].join("|");
    const isFull = isAnonymous
      ? this.anonymous >= CALLERS_MOST.anonymous
      : this.minute.size - this.anonymous >= CALLERS_MOST.known;
    if (!isFull || this.minute.has(key)) return { key, entry };
    const { severity = "low" } = entry;
    const shared = { actorKind: "anonymous", action, severity, success: false, reason: "many-callers" } as const;
    return { key: `others|${action}`, entry: shared };
  }
}
