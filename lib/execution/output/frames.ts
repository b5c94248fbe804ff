import { hasInexactNumber } from "@/lib/text/exact-numbers";
import type { LogLevel } from "../types";
import { storable } from "./clean-text";
import { artifactOfFrame } from "./frame/artifact-frame";
import { LineBuffer } from "./frame/line-buffer";
import { FrameOutline } from "./frame/result-line";

/** Limit on UTF-8 bytes of one line on fd 3. */
export const MAX_FRAME_BYTES = 64 * 1024;
// A result above its own limit is still read, so that a preview of it can be kept.
const MAX_LINE_BYTES = 1024 * 1024;

/** A message of a command on fd 3: one JSON object per line. */
export type Frame =
  | { readonly type: "progress"; readonly percent: number; readonly message: string | null }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string }
  /** `size`: UTF-8 bytes of its line. */
  | { readonly type: "row"; readonly value: unknown; readonly size: number }
  /** Its line, for `readResult`: only the last result of a command is parsed. */
  | { readonly type: "result"; readonly line: Buffer }
  | { readonly type: "snooze"; readonly seconds: number; readonly reason: string | null }
  | ReturnType<typeof artifactOfFrame>
  | { readonly type: "invalid"; readonly problem: string; readonly lost: LostKind | null };

/** The kind of an unreadable line, if the outcome of the attempt depends on it. */
export type LostKind = "row" | "result" | "snooze" | "artifact";

/** Splits the bytes of fd 3 into frames. An invalid line is reported as such and does not affect the next one. */
export class FrameReader {
  readonly #line = new LineBuffer(MAX_LINE_BYTES);

  /** Parses each line when the caller asks for it. The caller must take all lines before the next `push`. */
  *push(bytes: Buffer): Generator<Frame> {
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      this.#line.add(bytes.subarray(from, end));
      yield* this.flush();
      from = end + 1;
    }
    this.#line.add(bytes.subarray(from));
  }

  /** Returns the last line, if it did not end with a newline. */
  flush(): Frame[] {
    const { bytes, size, isWhole } = this.#line.take();
    if (!isWhole) return [tooLong(size, lostKind(bytes.toString("latin1"), "result"))];
    return size > 0 ? [parseFrame(bytes)] : [];
  }
}

type Invalid = Extract<Frame, { type: "invalid" }>;
const invalid = (problem: string, lost: LostKind | null = null): Invalid => ({ type: "invalid", problem, lost });

function tooLong(size: number, lost: LostKind | null): Frame {
  const most = lost === "result" ? MAX_LINE_BYTES : MAX_FRAME_BYTES;
  return invalid(`a frame of ${size} bytes is too long; a ${lost ?? "frame"} may have ${most}`, lost);
}

const LOST_TYPE = /"type"\s{0,8}:\s{0,8}"(row|result|snooze|artifact)"/;
const HARMLESS_TYPE = /"type"\s{0,8}:\s{0,8}"(?:progress|log)"/;
const isLostKind = (type: unknown): type is LostKind =>
  type === "row" || type === "result" || type === "snooze" || type === "artifact";

/** Guesses the kind of a line that cannot be parsed; `otherwise` when it names no type. */
function lostKind(text: string, otherwise: LostKind | null): LostKind | null {
  const type = LOST_TYPE.exec(text)?.[1];
  if (isLostKind(type)) return type;
  return HARMLESS_TYPE.test(text) ? null : otherwise;
}

function parseFrame(line: Buffer): Frame {
  return line.length > MAX_FRAME_BYTES ? parseLong(line) : parseShort(line);
}

function parseShort(line: Buffer): Frame {
  const text = line.toString("utf8");
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return notJson(text);
  }
  if (typeof frame !== "object" || frame === null) return invalid("a frame is no object");
  return (frame as { type?: unknown }).type === "result"
    ? toResult(line)
    : toFrame(frame as Record<string, unknown>, { line, text });
}

/** Only a result may be so long; whether it is JSON is known when `readResult` reads it. */
function parseLong(line: Buffer): Frame {
  const { isObject, type } = new FrameOutline(line);
  if (!isObject) return notJson(line.toString("utf8"));
  return type === "result" ? toResult(line) : tooLong(line.length, isLostKind(type) ? type : null);
}

/** The frame for a line that cannot be parsed. */
export const notJson = (text: string) => invalid("a line is not JSON", lostKind(text, null));

/** Copies the line, because its buffer gets the next one. */
const toResult = (line: Buffer): Frame => ({ type: "result", line: Buffer.from(line) });

interface FrameLine {
  readonly line: Buffer;
  readonly text: string;
}

function toFrame(frame: Record<string, unknown>, { line, text }: FrameLine): Frame {
  switch (frame.type) {
    case "row":
      return hasInexactNumber(text)
        ? invalid("a row has a number that JSON readers round; send it as a string", "row")
        : { type: "row", value: frame.value, size: line.length };
    case "progress":
      return toProgress(frame);
    case "log":
      return toLog(frame);
    case "snooze":
      return toSnooze(frame);
    case "artifact":
      return artifactOfFrame(frame);
    default:
      return invalid("a frame has no known type");
  }
}

function toProgress({ percent, message }: Record<string, unknown>): Frame {
  if (typeof percent !== "number" || !Number.isFinite(percent)) {
    return invalid("a progress frame has no percent");
  }
  const whole = Math.max(0, Math.min(100, Math.round(percent)));
  return { type: "progress", percent: whole, message: typeof message === "string" ? shortMessage(message) : null };
}

/** Cuts a text to 500 characters, between characters. */
export function shortMessage(text: string): string {
  return storable(
    Array.from(storable(text.slice(0, 1000)))
      .slice(0, 500)
      .join(""),
  );
}

function toSnooze({ seconds, reason }: Record<string, unknown>): Frame {
  if (typeof seconds !== "number" || !(seconds >= 1 && seconds <= 604_800)) {
    return invalid("a snooze frame needs seconds from 1 to 604800", "snooze");
  }
  return { type: "snooze", seconds, reason: typeof reason === "string" ? shortMessage(reason) : null };
}

const LEVELS: ReadonlySet<unknown> = new Set(["debug", "info", "warn", "error"]);

function toLog({ level, message }: Record<string, unknown>): Frame {
  if (typeof message !== "string") return invalid("a log frame has no message");
  return { type: "log", level: LEVELS.has(level) ? (level as LogLevel) : "info", message };
}
