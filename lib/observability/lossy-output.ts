import { constants, fstatSync, openSync, writeSync } from "node:fs";
import { Socket } from "node:net";

/** Lines that wait for a slow reader; beyond it, new ones are dropped. */
const MOST_WAITING_BYTES = 1024 * 1024;
const TRY_AGAIN_MS = 50;
/** At the exit of the process, a reader that is only slow gets so long for the last lines. */
const LAST_LINES_MS = 200;
const PAUSE_MS = 5;

/** Lines to a file descriptor, of which none is worth waiting or failing for. */
export interface LossyOutput {
  write(line: string): void;
  /** Writes what waits, for at most 200 ms. */
  flushSync(): void;
}

interface LossyOptions {
  /** The line that tells how many were dropped; written when the output takes lines again. */
  readonly droppedLine: (count: number) => string;
  /** For tests. */
  readonly write?: (bytes: Buffer) => number;
}

/**
 * Writes lines to a file descriptor at once where that is possible, and never blocks or throws: a full disk, a reader
 * that is gone, and more than 1 MiB that a stopped reader has not taken cost lines, which are counted.
 */
export function lossyOutput(fd: number, { droppedLine, write }: LossyOptions): LossyOutput {
  const target = write ? fd : nonBlocking(fd);
  const output = new Output(write ?? ((bytes) => writeSync(target, bytes)), droppedLine);
  process.on("exit", () => output.flushSync());
  return output;
}

interface Waiting {
  readonly bytes: Buffer;
  /** How many lines are lost with it: those that it reports as dropped, or one, itself. */
  readonly lines: number;
}

class Output implements LossyOutput {
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  private dropped = 0;
  /** A line was cut by an error: the next one begins on a line of its own. */
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
    this.tellDropped();
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

  private tellDropped(): void {
    const count = this.dropped;
    this.dropped = 0;
    if (count > 0) this.wait(this.droppedLine(count), count);
  }

  /** @returns whether lines are left that the reader may take later */
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
    this.tellDropped();
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

/** The same output, in a mode in which a write that would have to wait says so. */
function nonBlocking(fd: number): number {
  try {
    const kind = fstatSync(fd);
    if (kind.isFile()) return fd;
    if (kind.isFIFO() || kind.isSocket()) {
      // libuv sets O_NONBLOCK on what it takes over; it is neither read nor written through this.
      kept.push(new Socket({ fd, readable: false, writable: true }).on("error", () => undefined).unref());
      return fd;
    }
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return fd;
  }
}

/** Not collected: a collected one would close the descriptor's handle. */
const kept: Socket[] = [];
