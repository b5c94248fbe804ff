/*
 * Live updates: one event stream per user and tenant in a browser, shared by its visible tabs. A missed change is never
 * fatal, because pages refetch on reconnect and poll while disconnected. Lists update rows in place; new rows wait
 * until the user asks for them.
 *
 * Start with `LiveFeed` below, then `use-live.tsx` (hooks and polling), `use-refresh.ts` and `use-pinned-rows.ts`.
 */

import type { JobSummary, JobUpdate } from "@/lib/contract";

export type FeedState = "connecting" | "live" | "reconnecting" | "paused";

export interface LiveListener {
  onChange?(change: JobUpdate): void;
  onSummary?(summary: JobSummary): void;
  /** Changes may have been missed: refetch what is shown. */
  onResync?(): void;
}

type Message =
  | { kind: "change"; change: JobUpdate }
  | { kind: "summary"; summary: JobSummary }
  | { kind: "state"; state: FeedState }
  | { kind: "hello" };

const REOPEN_MS = { first: 5000, most: 60_000 } as const;

/**
 * The live changes of one tenant. A browser allows few connections per host, so the visible tabs of one user share one
 * stream: the tab that holds the lock reads it and broadcasts to the others. Hidden tabs hold no stream and no lock.
 */
export class LiveFeed {
  #state: FeedState = "connecting";
  readonly #listeners = new Set<LiveListener>();
  readonly #stateListeners = new Set<() => void>();
  readonly #name: string;
  #membership: AbortController | undefined;
  #channel: BroadcastChannel | undefined;
  #source: EventSource | undefined;
  #reopenTimer: ReturnType<typeof setTimeout> | undefined;
  #reopenMs: number = REOPEN_MS.first;
  #paused = false;
  #started = false;

  constructor(
    private readonly tenant: string,
    userId: string,
  ) {
    this.#name = `leasehold-live-${userId}-${tenant}`;
  }

  get state(): FeedState {
    return this.#state;
  }

  listen(listener: LiveListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onState(listener: () => void): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  start(): void {
    this.#started = true;
    document.addEventListener("visibilitychange", this.#onVisibility);
    this.#join();
  }

  stop(): void {
    this.#started = false;
    document.removeEventListener("visibilitychange", this.#onVisibility);
    this.#leave();
  }

  setPaused(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    if (paused) {
      this.#leave();
      this.#setState("paused");
      return;
    }
    this.#setState("connecting");
    this.#join();
    this.#resync();
  }

  readonly #onVisibility = () => {
    if (document.hidden) {
      this.#leave();
      return;
    }
    this.#join();
    this.#resync();
  };

  #join(): void {
    if (!this.#started || this.#paused || document.hidden || this.#membership) return;
    const membership = new AbortController();
    this.#membership = membership;
    if (!navigator.locks || typeof BroadcastChannel === "undefined") {
      this.#open();
      return;
    }
    this.#channel = new BroadcastChannel(this.#name);
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#receive(data);
    this.#channel.postMessage({ kind: "hello" } satisfies Message);
    navigator.locks
      .request(this.#name, { signal: membership.signal }, () => this.#lead(membership.signal))
      .catch(() => {});
  }

  #lead(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    this.#open();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  #leave(): void {
    clearTimeout(this.#reopenTimer);
    this.#source?.close();
    this.#source = undefined;
    this.#channel?.close();
    this.#channel = undefined;
    this.#membership?.abort();
    this.#membership = undefined;
  }

  #open(): void {
    const source = new EventSource(`/api/v1/jobs/stream?tenant=${encodeURIComponent(this.tenant)}`);
    this.#source = source;
    source.onopen = () => {
      this.#reopenMs = REOPEN_MS.first;
      const missed = this.#state !== "live";
      this.#share({ kind: "state", state: "live" });
      if (missed) this.#resync();
    };
    source.onerror = () => {
      this.#share({ kind: "state", state: "reconnecting" });
      if (source.readyState === EventSource.CLOSED) this.#reopenLater();
    };
    source.addEventListener("job.changed", (event) => this.#share({ kind: "change", change: JSON.parse(event.data) }));
    source.addEventListener("summary", (event) => this.#share({ kind: "summary", summary: JSON.parse(event.data) }));
  }

  // An EventSource never reconnects after an answer that is not a stream (401, 429, 503).
  #reopenLater(): void {
    clearTimeout(this.#reopenTimer);
    this.#reopenTimer = setTimeout(() => this.#open(), this.#reopenMs);
    this.#reopenMs = Math.min(this.#reopenMs * 2, REOPEN_MS.most);
  }

  #share(message: Message): void {
    this.#receive(message);
    this.#channel?.postMessage(message);
  }

  #receive(message: Message): void {
    if (message.kind === "hello") {
      if (this.#source) this.#channel?.postMessage({ kind: "state", state: this.#state } satisfies Message);
    } else if (message.kind === "state") {
      const back = message.state === "live" && this.#state === "reconnecting";
      this.#setState(message.state);
      if (back && !this.#source) this.#resync();
    } else if (message.kind === "change") {
      for (const listener of this.#listeners) listener.onChange?.(message.change);
    } else {
      for (const listener of this.#listeners) listener.onSummary?.(message.summary);
    }
  }

  #resync(): void {
    for (const listener of this.#listeners) listener.onResync?.();
  }

  #setState(state: FeedState): void {
    if (this.#state === state || (this.#paused && state !== "paused")) return;
    this.#state = state;
    for (const listener of this.#stateListeners) listener();
  }
}
