import { setTimeout as delay } from "node:timers/promises";
import type { Database } from "@/lib/db";
import { appendLogs, type Lease, type LogChunk, notifyChanges, reportProgress } from "@/lib/queue";

const FLUSH_MS = 300;
const CHUNK_CHARS = 32 * 1024;
const MOST_WAITING = 2000;
const LAST_FLUSH_MS = 5000;
const LAST_FLUSH_AGAIN_MS = 200;

type Line = Omit<LogChunk, "seq">;

interface AttemptOutputOptions {
  readonly db: Database;
  readonly lease: Lease;
  readonly laneNo: number;
  /** Bytes of one attempt's live output; what is beyond it stays in the attempt's tail. */
  readonly mostBytes: number;
  /** The lease turned out to be lost. */
  readonly onLost: () => void;
}

/**
 * Writes an attempt's live output and progress under its lease, a few times a second. Output of one stream that came
 * together is stored together. A write that failed is sent again with the same numbers, so nothing is stored twice.
 */
export class AttemptOutputWriter {
  private lines: Line[] = [];
  private unsent: LogChunk[] = [];
  private progress: { percent: number; message: string | null } | undefined;
  private nextSeq = 0;
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private ending = false;
  private over = false;

  constructor(private readonly options: AttemptOutputOptions) {}

  write(line: Line): void {
    if (this.bytes > this.options.mostBytes || this.lines.length > MOST_WAITING) return;
    this.bytes += Buffer.byteLength(line.body);
    const full = this.bytes > this.options.mostBytes;
    const last = this.lines.at(-1);
    if (last && last.stream === line.stream && line.stream !== "log" && last.body.length < CHUNK_CHARS) {
      this.lines[this.lines.length - 1] = { ...last, body: last.body + line.body };
    } else this.lines.push(line);
    if (full) this.lines.push({ stream: "log", level: "warn", body: "The live output of this attempt is full." });
    this.schedule();
  }

  report(percent: number, message: string | null): void {
    this.progress = { percent, message };
    this.schedule();
  }

  /** Stores what is left; gives up after five seconds, since a result is worth more than its output. */
  async end(): Promise<void> {
    clearTimeout(this.timer);
    this.ending = true;
    const late = new AbortController();
    await Promise.race([this.flushRest(), delay(LAST_FLUSH_MS, undefined, { signal: late.signal }).catch(() => {})]);
    late.abort();
    this.over = true;
  }

  private async flushRest(): Promise<void> {
    await this.flushing;
    for (;;) {
      await this.flush();
      if (this.over || (this.unsent.length === 0 && !this.progress)) return;
      await delay(LAST_FLUSH_AGAIN_MS);
    }
  }

  private schedule(): void {
    if (this.ending) return;
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.flushing = this.flushing.then(() => this.flush());
    }, FLUSH_MS);
  }

  private async flush(): Promise<void> {
    const { db, lease, laneNo, onLost } = this.options;
    this.unsent.push(...this.lines.map((line) => ({ ...line, seq: this.nextSeq++ })));
    this.lines = [];
    const { progress, unsent } = this;
    if (this.over || (unsent.length === 0 && !progress)) return;
    try {
      const held = await appendLogs(db, lease, unsent);
      this.unsent = [];
      this.progress = this.progress === progress ? undefined : this.progress;
      const kept = progress ? await reportProgress(db, lease, progress) : held;
      if (held && kept) notifyChanges(db, [laneNo]);
      else onLost();
    } catch {
      // The database is away: the same chunks go out with the next flush.
      if (this.unsent.length <= MOST_WAITING) this.schedule();
      else this.unsent = [];
    }
  }
}
