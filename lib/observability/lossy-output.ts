import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";

/** Buffer for a slow reader. Beyond it, new lines are dropped. */
const MOST_WAITING_BYTES = 1024 * 1024;
const TRY_AGAIN_MS = 50;
/** How long a slow reader may take for the last lines when the process exits. */
const LAST_LINES_MS = 200;
const PAUSE_MS = 5;

/** An output of lines to a file descriptor that loses lines instead of blocking or failing. */
export interface LossyOutput {
  write(line: string): void;
  /** Writes the buffered lines, for at most 200 ms. */
  flushSync(): void;
}

interface LossyOptions {
  /** Returns the line that reports how many lines were dropped. Written when the output accepts lines again. */
  readonly droppedLine: (count: number) => string;
  /** For tests. */
  readonly write?: (bytes: Buffer) => number;
}

/**
 * Returns an output that writes lines to a file descriptor, at once where possible. Never blocks or throws: a full
 * disk, a disconnected reader, and more than 1 MiB of unread lines lose lines, which are counted.
 */
export function lossyOutput(fd: number, { droppedLine, write }: LossyOptions): LossyOutput {
  const target = write ? fd : nonBlocking(fd);
  const output = new Output(write ?? ((bytes) => writeSync(target, bytes)), droppedLine);
  process.on("exit", () => output.flushSync());
  return output;
}

interface Waiting {
  readonly bytes: Buffer;
  /** Number of lines lost if this one is: the lines it reports as dropped, or one. */
  readonly lines: number;
}

class Output implements LossyOutput {
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  private dropped = 0;
  /** True if an error cut a line; the next one begins with a newline. */
  private isCut = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly put: (bytes: Buffer) => number,
    private readonly droppedLine: (count: number) => string,
  ) {}

  write(line: string): void {
    if (this.waiting.length > 0) this.send();
    if (this.waitingBytes > MOST_WAITING_BYTES) {
      this.dropped += 1;
      return;
    }
    this.logDropped();
    this.wait(line, 1);
    this.send();
  }

  flushSync(): void {
    const deadline = performance.now() + LAST_LINES_MS;
    while (this.send() && performance.now() < deadline) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }

  private wait(line: string, lines: number): void {
    const bytes = Buffer.from(this.isCut ? `\n${line}` : line);
    this.isCut = false;
    this.waiting.push({ bytes, lines });
    this.waitingBytes += bytes.length;
  }

  private logDropped(): void {
    const count = this.dropped;
    this.dropped = 0;
    if (count > 0) this.wait(this.droppedLine(count), count);
  }

  /** @returns true if lines are left that the reader may take later */
  private send(): boolean {
    for (let first = this.waiting[0]; first; first = this.waiting[0]) {
      const { bytes, lines } = first;
      const written = this.tryToPut(bytes);
      if (written === "later") {
        this.timer ??= setTimeout(() => this.sendAgain(), TRY_AGAIN_MS).unref();
        return true;
      }
      if (written === "failed") {
        this.dropWaiting();
        return false;
      }
      this.waitingBytes -= written;
      if (written < bytes.length) this.waiting[0] = { bytes: bytes.subarray(written), lines };
      else this.waiting.shift();
    }
    return false;
  }

  private sendAgain(): void {
    this.timer = undefined;
    if (this.send()) return;
    this.logDropped();
    this.send();
  }

  private tryToPut(bytes: Buffer): number | "later" | "failed" {
    try {
      const written = this.put(bytes);
      this.isCut = written < bytes.length;
      return written > 0 ? written : "later";
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === "EAGAIN" ? "later" : "failed";
    }
  }

  private dropWaiting(): void {
    for (const { lines } of this.waiting) this.dropped += lines;
    this.waiting = [];
    this.waitingBytes = 0;
  }
}

/** Returns the same output, in a mode in which a write fails instead of blocking. */
function nonBlocking(fd: number): number {
  try {
    const kind = fstatSync(fd);
    if (kind.isFile()) return fd;
    if (kind.isFIFO() || kind.isSocket()) {
      // libuv sets O_NONBLOCK on the descriptor; nothing is read or written through this socket.
      kept.push(new Socket({ fd, readable: false, writable: true }).on("error", () => undefined).unref());
      return fd;
    }
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}

/** Keeps the sockets from being collected, because a collected one would close the descriptor. */
const kept: Socket[] = [];
