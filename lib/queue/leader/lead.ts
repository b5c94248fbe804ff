import { type DatabaseError, openSession, type Session } from "@/lib/db";
import { pingSql, takeTermSql, tryLeadSql, unlockSql } from "./lead.sql";
import { beatSchedulerSql, forgetSchedulerSql } from "./schedulers.sql";
import { isOlderTz, newestTz, type TzVersion } from "./tz-version.policy";

/** How often a leader shows that it lives, and how often the others ask whether the lock is free. */
const PING_MS = 1000;
/** A session that is silent for this long is ended by the server: a leader that was frozen cannot keep the lock. */
const IDLE_SECONDS = 5;
/** How often a scheduler records that it is alive. The others count it as gone after ten seconds. */
const BEAT_MS = 3000;

export interface LeadershipEvents {
  /** This process leads from now on, in this term. */
  readonly onLead: (term: number) => void;
  /** It does not any more: stop whatever was begun in the term. */
  readonly onLost: () => void;
  /** Another living scheduler has this newer time-zone data, so this one does not lead; null: none has any more. */
  readonly onOutdated?: (newest: TzVersion) => void;
  readonly onError: (error: unknown) => void;
}

export interface LeadershipOptions {
  readonly url: string;
  readonly leaderId: string;
  readonly random: () => number;
  readonly version: string;
  /** Version of this process's time-zone data. */
  readonly tzVersion: TzVersion;
}

export interface Leadership {
  /** Gives the lock back, so that another one leads at once. */
  close(): Promise<void>;
}

/**
 * Seeks to be the one leader for as long as the process lives: holds a lock of its own session, begins a new term each
 * time it gets it, and pings so that a frozen or cut-off leader loses it within five seconds. Leadership saves double
 * work and is never the guard: all that a leader does is fenced or may be done twice. While another living scheduler has
 * newer time-zone data, it yields: the instants of schedules come from the newest rules that are there.
 */
export function seekLeadership(options: LeadershipOptions, events: LeadershipEvents): Leadership {
  const seeker = new Seeker(options, events);
  seeker.turn();
  return { close: () => seeker.close() };
}

class Seeker {
  #session: Session | undefined;
  #leads = false;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;
  #turning: Promise<void> = Promise.resolve();
  #beatAt = Number.NEGATIVE_INFINITY;
  /** The newer data of another living scheduler, as of the last heartbeat. */
  #newer: TzVersion = null;

  constructor(
    private readonly options: LeadershipOptions,
    private readonly events: LeadershipEvents,
  ) {}

  turn(): void {
    this.#turning = this.#once().catch((error: unknown) => this.#lose(error));
    void this.#turning.then(() => {
      if (!this.#closed) this.#timer = setTimeout(() => this.turn(), PING_MS * (0.9 + 0.2 * this.options.random()));
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#turning;
    const session = this.#session;
    this.#stepDown();
    // Best effort: its row is too old after ten seconds anyway.
    await session?.run(forgetSchedulerSql, [this.options.leaderId]).catch(() => undefined);
    await session?.close();
  }

  async #once(): Promise<void> {
    this.#session ??= await this.#open();
    const session = this.#session;
    if (performance.now() - this.#beatAt >= BEAT_MS) await this.#beat(session);
    if (this.#leads || this.#newer !== null) {
      await session.run(pingSql);
      return;
    }
    const [lock] = await session.run<{ held: boolean }>(tryLeadSql);
    if (!lock?.held || this.#closed) return;
    const [row] = await session.run<{ term: number }>(takeTermSql, [this.options.leaderId]);
    if (!row) return;
    this.#leads = true;
    this.events.onLead(row.term);
  }

  async #beat(session: Session): Promise<void> {
    const { leaderId, version, tzVersion } = this.options;
    const others = await session.run<{ tz_version: TzVersion }>(beatSchedulerSql, [leaderId, version, tzVersion]);
    this.#beatAt = performance.now();
    const newest = newestTz(others.map((other) => other.tz_version));
    const newer = isOlderTz(tzVersion, newest) ? newest : null;
    if (newer === this.#newer) return;
    this.#newer = newer;
    this.events.onOutdated?.(newer);
    if (newer !== null && this.#leads) {
      // The work of the term stops first, then another one may begin the next.
      this.#yield();
      await session.run(unlockSql);
    }
  }

  #open(): Promise<Session> {
    return openSession({
      url: this.options.url,
      applicationName: "leasehold leadership",
      idleTimeoutSeconds: IDLE_SECONDS,
      onLost: (error: DatabaseError) => this.#lose(error),
    });
  }

  // The session is closed, not reused: only a closed one surely holds no lock.
  #lose(error: unknown): void {
    const session = this.#session;
    if (session) void session.close();
    this.events.onError(error);
    this.#stepDown();
  }

  #stepDown(): void {
    this.#session = undefined;
    this.#beatAt = Number.NEGATIVE_INFINITY;
    this.#yield();
  }

  #yield(): void {
    if (!this.#leads) return;
    this.#leads = false;
    this.events.onLost();
  }
}
