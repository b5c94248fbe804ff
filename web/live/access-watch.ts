/** An answer that stays open after its request was authorised. */
export interface Watched {
  readonly userId: string;
  readonly kind: "session" | "key";
  /** The session (hex of its hash) or key (id) of the request. */
  readonly credential: string;
  /** Authorises again, and ends the answer if access was revoked. Rejects if the database cannot be reached. */
  recheck(): Promise<void>;
}

/** Where the watch reads credentials. */
export interface AccessSource {
  /** Returns, for each valid credential, a text that changes with its rights. */
  marks(watched: readonly Watched[]): Promise<ReadonlyMap<string, string>>;
  /** Calls back with the id of a user whose rights changed, or `*` for all. Returns a function that stops listening. */
  listen(onChange: (userId: string) => void): () => void;
  onError(error: unknown): void;
}

const POLL_MS = 1500;
/** Rechecks that run at once. */
const RECHECKS_AT_ONCE = 20;

/**
 * Ends answers whose access was revoked: at once by a wake-up, and within two seconds by a poll if the wake-up is lost.
 * The poll is one statement for all open answers, and runs only while some are open.
 */
export class AccessWatch {
  /** Each answer with the mark under which it was last authorised; undefined if unknown. */
  private readonly open = new Map<Watched, string | undefined>();
  private timer: NodeJS.Timeout | undefined;
  private isPolling = false;
  private stopListening: (() => void) | undefined;

  constructor(
    private readonly source: AccessSource,
    private readonly pollMs = POLL_MS,
  ) {}

  /** Watches an answer until the returned function is called. */
  add(watched: Watched): () => void {
    this.open.set(watched, undefined);
    this.stopListening ??= this.source.listen((userId) => void this.heard(userId));
    if (!this.isPolling) this.schedule();
    return () => {
      this.open.delete(watched);
      if (this.open.size > 0) return;
      clearTimeout(this.timer);
      this.timer = undefined;
      this.stopListening?.();
      this.stopListening = undefined;
    };
  }

  private async heard(userId: string): Promise<void> {
    const concerned = [...this.open.keys()].filter((watched) => userId === "*" || watched.userId === userId);
    await this.recheck(concerned.map((watched) => [watched, undefined]));
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => void this.poll(), this.pollMs).unref();
  }

  private async poll(): Promise<void> {
    this.isPolling = true;
    this.timer = undefined;
    try {
      const marks = await this.source.marks([...this.open.keys()]);
      const gone = "";
      const changed = [...this.open].flatMap(([watched, known]) => {
        const mark = marks.get(watched.credential) ?? gone;
        return mark === known && mark !== gone ? [] : [[watched, mark] as const];
      });
      await this.recheck(changed);
    } catch (error) {
      this.source.onError(error);
    }
    this.isPolling = false;
    if (this.open.size > 0) this.schedule();
  }

  private async recheck(all: readonly (readonly [Watched, string | undefined])[]): Promise<void> {
    for (let at = 0; at < all.length; at += RECHECKS_AT_ONCE) {
      const part = all.slice(at, at + RECHECKS_AT_ONCE);
      await Promise.all(
        part.map(async ([watched, mark]) => {
          try {
            await watched.recheck();
            if (this.open.has(watched)) this.open.set(watched, mark);
          } catch (error) {
            this.source.onError(error);
          }
        }),
      );
    }
  }
}
