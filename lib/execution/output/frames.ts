import type { LogLevel } from "../types";
import { storable } from "./clean-text";

/** UTF-8 bytes of one line on fd 3. */
export const MAX_FRAME_BYTES = 64 * 1024;
// A result above its own limit is still read, so that a preview of it can be kept.
const MAX_LINE_BYTES = 1024 * 1024;

/** What a command says on fd 3, one JSON object a line. */
export type Frame =
  | { readonly type: "progress"; readonly percent: number; readonly message: string | null }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string }
  | { readonly type: "row"; readonly value: unknown }
  | { readonly type: "result"; readonly value: unknown }
  | { readonly type: "snooze"; readonly seconds: number; readonly reason: string | null }
  | { readonly type: "invalid"; readonly problem: string; readonly isRow: boolean };

/** Cuts the bytes of fd 3 into frames. A line that is no frame is reported as such and does no harm to the next. */
export class FrameReader {
  #parts: Buffer[] = [];
  #size = 0;
  #overlong = false;

  push(bytes: Buffer): Frame[] {
    const frames: Frame[] = [];
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      this.#add(bytes.subarray(from, end));
      this.#take(frames);
      from = end + 1;
    }
    this.#add(bytes.subarray(from));
    return frames;
  }

  /** The last line, when no newline ended it. */
  flush(): Frame[] {
    const frames: Frame[] = [];
    this.#take(frames);
    return frames;
  }

  #add(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > MAX_LINE_BYTES) {
      this.#overlong = true;
      // Its beginning says what was lost.
      this.#parts = [Buffer.concat([...this.#parts.slice(0, 1), part]).subarray(0, 64)];
      return;
    }
    if (part.length > 0) this.#parts.push(part);
  }

  #take(frames: Frame[]): void {
    const line = Buffer.concat(this.#parts);
    const isOverlong = this.#overlong;
    const size = this.#size;
    this.#parts = [];
    this.#size = 0;
    this.#overlong = false;
    if (isOverlong) frames.push(tooLong(size, line.subarray(0, 64).includes('"row"')));
    else if (line.length > 0) frames.push(parseFrame(line));
  }
}

function tooLong(size: number, isRow: boolean): Frame {
  return { type: "invalid", problem: `a frame of ${size} bytes is too long`, isRow };
}

function parseFrame(line: Buffer): Frame {
  let frame: unknown;
  try {
    frame = JSON.parse(line.toString("utf8"));
  } catch {
    return { type: "invalid", problem: "a line is not JSON", isRow: false };
  }
  if (typeof frame !== "object" || frame === null)
    return { type: "invalid", problem: "a frame is no object", isRow: false };
  return toFrame(frame as Record<string, unknown>, line.length);
}

function toFrame(frame: Record<string, unknown>, size: number): Frame {
  const isRow = frame.type === "row";
  const limit = frame.type === "result" ? MAX_LINE_BYTES : MAX_FRAME_BYTES;
  if (size > limit) return tooLong(size, isRow);
  if (isRow || frame.type === "result") return { type: frame.type as "row" | "result", value: frame.value };
  if (frame.type === "progress") return toProgress(frame);
  if (frame.type === "log") return toLog(frame);
  if (frame.type === "snooze") return toSnooze(frame);
  return { type: "invalid", problem: "a frame has no known type", isRow: false };
}

function toProgress({ percent, message }: Record<string, unknown>): Frame {
  if (typeof percent !== "number" || !Number.isFinite(percent)) {
    return { type: "invalid", problem: "a progress frame has no percent", isRow: false };
  }
  const whole = Math.max(0, Math.min(100, Math.round(percent)));
  return { type: "progress", percent: whole, message: typeof message === "string" ? shortMessage(message) : null };
}

/** At most 500 characters, none of them cut in two. */
export function shortMessage(text: string): string {
  return storable(
    Array.from(storable(text.slice(0, 1000)))
      .slice(0, 500)
      .join(""),
  );
}

function toSnooze({ seconds, reason }: Record<string, unknown>): Frame {
  if (typeof seconds !== "number" || !(seconds >= 1 && seconds <= 604_800)) {
    return { type: "invalid", problem: "a snooze frame needs seconds from 1 to 604800", isRow: false };
  }
  return { type: "snooze", seconds, reason: typeof reason === "string" ? shortMessage(reason) : null };
}

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warn", "error"]);

function toLog({ level, message }: Record<string, unknown>): Frame {
  if (typeof message !== "string") return { type: "invalid", problem: "a log frame has no message", isRow: false };
  return { type: "log", level: LEVELS.has(level) ? (level as LogLevel) : "info", message };
}
