import { setTimeout as delay } from "node:timers/promises";
import { withDeadline } from "@/lib/async/deadline";
import type { Database } from "@/lib/db";
import {
  appendLogs,
  type Lease,
  LOG_LINE_BYTES,
  type LogChunk,
  notifyChanges,
  recordProcess,
  reportProgress,
} from "@/lib/queue/worker";

const FLUSH_MS = 300;
const CHUNK_CHARS = 32 * 1024;
const MOST_WAITING = 2000;
const MOST_JOINED = 256;
/** Limit on UTF-8 bytes that wait to be stored: room for one batch of both streams, and a megabyte of messages. */
const MOST_WAITING_BYTES = 3 * 1024 * 1024;
/** Keeps a statement near one megabyte, because its data is in memory three times while it is sent. */
const CHUNKS_AT_ONCE = 32;
const LAST_FLUSH_MS = 5000;
const LAST_FLUSH_AGAIN_MS = 200;

type Line = Omit<LogChunk, "seq">;

interface AttemptOutputOptions {
  readonly db: Database;
  readonly lease: Lease;
  readonly laneNo: number;
  /**
   * Limit on one attempt's log: UTF-8 bytes of text, and `LOG_LINE_BYTES` for each stored line. Standard output beyond
   * the limit is still in the attempt's tail.
   */
  readonly mostBytes: number;
  /** Called when the lease turns out to be lost. */
  readonly onLost: () => void;
}

/**
 * Writes an attempt's live output and progress under its lease, a few times a second. Consecutive output of one stream
 * is stored together. A failed write is sent again with the same numbers, so nothing is stored twice.
 */
export class AttemptOutputWriter {
  private lines: Line[] = [];
  private unsent: LogChunk[] = [];
  private progress: { percent: number; message: string | null } | undefined;
  private pid: number | undefined;
  private nextSeq = 0;
  /** Bytes charged for the log so far. */
  private bytes = 0;
  private isFull: boolean;
  /** Bytes of lines and unsent chunks. */
  private waiting = 0;
  private joined = 0;
  private readonly dropped = { stdout: 0, stderr: 0, log: 0 };
  private timer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> = Promise.resolve();
  private ending = false;
  private over = false;

  constructor(private readonly options: AttemptOutputOptions) {
    this.isFull = options.mostBytes === 0;
  }

  write(line: Line): void {
    const size = sizeOf(line);
    if (this.isFull || this.lines.length > MOST_WAITING || this.waiting + size > MOST_WAITING_BYTES) {
      this.drop(line, size);
      return;
    }
    const charge = this.joinsLast(line) ? 0 : LOG_LINE_BYTES;
    const free = this.options.mostBytes - this.bytes - charge;
    this.bytes += charge + size;
    if (size <= free) this.keep(line);
    else this.keepBeginning(line, { size, free });
    this.schedule();
  }

  /** Bytes of log messages that are stored nowhere. The two other streams are also in the attempt's head and tail. */
  get droppedLogBytes(): number {
    return this.dropped.log;
  }

  /** Counts an empty message as one byte, so that its loss is reported too. */
  private drop({ stream }: Line, bytes: number): void {
    this.dropped[stream] += Math.max(1, bytes);
  }

  private joinsLast({ stream }: Line): boolean {
    const last = this.lines.at(-1);
    return stream !== "log" && last?.stream === stream && last.body.length < CHUNK_CHARS;
  }

  private keep(line: Line): void {
    this.waiting += sizeOf(line);
    const last = this.lines.at(-1);
    if (last && this.joinsLast(line)) {
      this.joined += 1;
      const body = last.body + line.body;
      this.lines[this.lines.length - 1] = { ...last, body: this.joined % MOST_JOINED === 0 ? inOnePiece(body) : body };
    } else this.lines.push(line);
  }

  private keepBeginning(line: Line, { size, free }: { readonly size: number; readonly free: number }): void {
    this.isFull = true;
    const { context: _tooMuch, ...plain } = line;
    // Stream decoding omits a character that the cut splits.
    const body = new TextDecoder().decode(Buffer.from(line.body).subarray(0, Math.max(0, free)), { stream: true });
    if (body !== "") this.keep({ ...plain, body });
    this.drop(line, size - Buffer.byteLength(body));
    this.keep({ stream: "log", level: "warn", body: "The log of this attempt is full." });
  }

  report(percent: number, message: string | null): void {
    this.progress = { percent, message };
    this.schedule();
  }

  /** Records the pid of the attempt's process, unless the attempt ends first: the attempt's end records the pid too. */
  spawned(pid: number): void {
    this.pid = pid;
    this.schedule();
  }

  /** Stores the rest. Gives up after five seconds, because a result is worth more than its output. */
  async end(): Promise<void> {
    if (this.isUntouched) return;
    clearTimeout(this.timer);
    this.ending = true;
    this.pid = undefined;
    this.logDropped();
    await withDeadline(this.flushRest(), LAST_FLUSH_MS);
    this.over = true;
  }

  private logDropped(): void {
    const bytes = Object.values(this.dropped).reduce((sum, one) => sum + one, 0);
    if (bytes === 0) return;
    const body = `${bytes} bytes of output were dropped from the log.`;
    this.keep({ stream: "log", level: "warn", body, context: { dropped_bytes: this.dropped } });
  }

  private get isUntouched(): boolean {
    return this.nextSeq === 0 && this.lines.length === 0 && this.progress === undefined && this.timer === undefined;
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
    const { progress, pid } = this;
    if (this.over || (this.unsent.length === 0 && !progress && pid === undefined)) return;
    try {
      let isLeased = pid === undefined || (await recordProcess(db, lease, pid));
      if (this.pid === pid) this.pid = undefined;
      while (isLeased && this.unsent.length > 0) {
        const part = this.unsent.slice(0, CHUNKS_AT_ONCE);
        isLeased = await appendLogs(db, lease, part);
        this.waiting -= totalOf(part);
        this.unsent = isLeased ? this.unsent.slice(part.length) : [];
      }
      const kept = isLeased && progress ? await reportProgress(db, lease, progress) : isLeased;
      if (this.progress === progress) this.progress = undefined;
      if (kept) notifyChanges(db, [laneNo]);
      else onLost();
    } catch {
      // The database is unavailable: the same chunks go out with the next flush.
      if (this.unsent.length <= MOST_WAITING) return this.schedule();
      this.waiting -= totalOf(this.unsent);
      this.unsent = [];
    }
  }
}

const sizeOf = ({ body, context }: Line): number =>
  Buffer.byteLength(body) + (context === undefined ? 0 : JSON.stringify(context).length);

const totalOf = (lines: readonly Line[]): number => lines.reduce((sum, line) => sum + sizeOf(line), 0);

/** Returns a flat copy of the text. A string joined from very many pieces takes thirty bytes more for each piece. */
const inOnePiece = (text: string): string => Buffer.from(text, "utf16le").toString("utf16le");
