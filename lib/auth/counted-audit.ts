import { addressGroup } from "./address-group";
import type { AuditEntry } from "./audit";

const MINUTE_MS = 60_000;
/** Callers that have lines of their own within a minute; the denials of all further ones share one line. */
const MOST_CALLERS = { anonymous: 100, known: 1000 } as const;

interface Counted {
  readonly entry: AuditEntry;
  repeated: number;
}

/**
 * Bounds the audit lines of denials. Denials are alike if caller, action, reason and tenant are the same; an anonymous
 * caller is its address. The first of a minute is written at once, and one line with the number of repetitions at the end of
 * the minute. A crash loses that number.
 */
export class CountedAudit {
  private minute = new Map<string, Counted>();
  private anonymous = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly write: (entry: AuditEntry) => Promise<void>,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Records a denial. Rejects if it is the first of its kind and could not be written. */
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

  /** Writes the numbers of this minute and begins the next one. */
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

  /** The group that a denial is counted in, and the line that stands for it. */
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
