import { type DatabaseError, openSession, type Session } from "@/lib/db";
import { pingSql, takeTermSql, tryLeadSql } from "../sql/upkeep";

/** How often a leader shows that it lives, and how often the others ask whether the lock is free. */
const PING_MS = 1000;
/** A session that is silent for this long is ended by the server: a leader that was frozen cannot keep the lock. */
const IDLE_SECONDS = 5;

export interface LeadershipEvents {
  /** This process leads from now on, in this term. */
  readonly onLead: (term: number) => void;
  /** It does not any more: stop whatever was begun in the term. */
  readonly onLost: () => void;
  readonly onError: (error: unknown) => void;
}

export interface Leadership {
  /** Gives the lock back, so that another one leads at once. */
  close(): Promise<void>;
}

/**
 * Seeks to be the one leader for as long as the process lives: holds a lock of its own session, begins a new term each
 * time it gets it, and pings so that a frozen or cut-off leader loses it within five seconds. Leadership saves double
 * work and is never the guard: all that a leader does is fenced or may be done twice.
 */
export function seekLeadership(
  options: { readonly url: string; readonly leaderId: string; readonly random: () => number },
  events: LeadershipEvents,
): Leadership {
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

  constructor(
    private readonly options: { readonly url: string; readonly leaderId: string; readonly random: () => number },
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
    await session?.close();
  }

  async #once(): Promise<void> {
    this.#session ??= await this.#open();
    const session = this.#session;
    if (this.#leads) {
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
    if (!this.#leads) return;
    this.#leads = false;
    this.events.onLost();
  }
}
