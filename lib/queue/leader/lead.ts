/**
 * Leader election: at most one scheduler holds the leader lock at a time, and each leadership has a term.
 * Leadership only avoids duplicate work. Correctness never depends on it, because everything that a leader does is
 * fenced or may be done twice. A frozen or disconnected leader loses the lock within five seconds. A scheduler with
 * older time-zone data yields to one with newer data.
 * Start with `seekLeadership` here; `keepTerm` in term.ts fences the leader's transactions.
 */
import { type DatabaseError, openDatabaseSession, type Session } from "@/lib/db";
import { pingSql, takeTermSql, tryLeadSql, unlockSql } from "./lead.sql";
import { beatSchedulerSql, forgetSchedulerSql } from "./schedulers.sql";
import { isOlderTz, newestTz, type TzVersion } from "./tz-version.policy";

/** Interval of the leader's pings, and of the other schedulers' attempts to take the lock. */
const PING_MS = 1000;
/** The server ends a session that is silent for this long, so a frozen leader cannot keep the lock. */
const IDLE_SECONDS = 5;
/** Interval of a scheduler's heartbeat. Without one for ten seconds, the others count it as dead. */
const BEAT_MS = 3000;

export interface LeadershipEvents {
  /** This process became leader, in this term. */
  readonly onLead: (term: number) => void;
  /** This process lost leadership: stop all work of the term. */
  readonly onLost: () => void;
  /**
   * Another live scheduler has this newer time-zone data, so this one does not lead; null: no other has newer
   * data any longer.
   */
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
  /** Releases the lock, so that another scheduler leads at once. */
  close(): Promise<void>;
}

/**
 * Competes for leadership as long as the process lives. Takes a lock in its own session and starts a new term each time
 * it gets the lock. Pings the server, so that a frozen or disconnected leader loses the lock within five seconds.
 * Leadership only avoids duplicate work: everything that a leader does is fenced or may be done twice. While another
 * live scheduler has newer time-zone data, this one yields, so that schedules use the newest rules available.
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
  /** The newer data of another live scheduler, as of the last heartbeat. */
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
    // Best effort, because the row expires after ten seconds anyway.
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
      // The work of the term stops before another scheduler can start the next term.
      this.#yield();
      await session.run(unlockSql);
    }
  }

  #open(): Promise<Session> {
    return openDatabaseSession({
      url: this.options.url,
      applicationName: "leasehold leadership",
      idleTimeoutSeconds: IDLE_SECONDS,
      onLost: (error: DatabaseError) => this.#lose(error),
    });
  }

  // The session is closed instead of reused, because only a closed session certainly holds no lock.
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
