import type { Readable } from "node:stream";
import { Turns } from "@/lib/turns";
import { cleanMessage, cleanResult } from "../output/clean-result";
import { readResult } from "../output/frame/result-line";
import { type Frame, FrameReader, type LostKind, notJson, shortMessage } from "../output/frames";
import type { SecretForms } from "../output/secret-forms";
import type { RunContext } from "../types";
import { NamedFiles } from "./named-files";
import type { RowChannel } from "./row-channel";

const MOST_REPORTED_PROBLEMS = 10;

type Of<Type extends Frame["type"]> = Extract<Frame, { type: Type }>;

export interface FrameSinkOptions {
  readonly ctx: Pick<RunContext, "onProgress" | "onLog">;
  readonly secrets: SecretForms;
  readonly rows: RowChannel | null;
}

/** The result of a command in storable form. */
export interface SentResult {
  readonly value: unknown;
  /** How the stored result differs from the one that was sent. */
  readonly changes: readonly string[];
}

/** Reads a command's frames on fd 3 and passes them on. Memory is bounded, whatever the command sends. */
export class FrameSink {
  /** True while the handler has not taken the rows; the command is then not idle. */
  isBlocked = false;
  lastActivity = performance.now();
  snooze: { readonly seconds: number; readonly reason: string | null } | null = null;
  /** Files to keep when the command has ended. */
  readonly artifacts = new NamedFiles();
  readonly #lost = new Map<LostKind, string>();
  readonly #options: FrameSinkOptions;
  readonly #turns = new Turns();
  /** The last result. A line, because its value may take fifty times as much memory, and a later one may replace it. */
  #resultLine: Buffer | null = null;
  #problems = 0;

  constructor(options: FrameSinkOptions) {
    this.#options = options;
  }

  /** An unreadable line that the outcome depends on: a row that has a reader, the last result, or a snooze. */
  get lost(): string | null {
    const [first] = this.#lost;
    return first === undefined ? null : `the command sent a ${first[0]} that cannot be read: ${first[1]}`;
  }

  /** Reads until the end of the stream; does not throw. */
  async read(stream: Readable): Promise<void> {
    const reader = new FrameReader();
    try {
      for await (const chunk of stream) await this.#takeAll(reader.push(chunk as Buffer));
    } catch {
      // The stream was cut off when the command's processes were killed.
    }
    await this.#takeAll(reader.flush());
  }

  async #takeAll(frames: Iterable<Frame>): Promise<void> {
    for (const frame of frames) {
      await this.#turns.next();
      this.lastActivity = performance.now();
      if (frame.type === "row") await this.#passRow(frame);
      else if (frame.type === "result") this.#keepResult(frame);
      else this.#take(frame);
    }
  }

  async #passRow({ value, size }: Of<"row">): Promise<void> {
    this.isBlocked = true;
    await this.#options.rows?.push(value, size);
    this.isBlocked = false;
    this.lastActivity = performance.now();
  }

  #keepResult({ line }: Of<"result">): void {
    this.#resultLine = line;
    this.#lost.delete("result");
  }

  /** Parses the last result; null without one. Call after the last frame, before `lost`. */
  async takeResult(): Promise<SentResult | null> {
    const line = this.#resultLine;
    if (line === null) return null;
    this.#resultLine = null;
    const changes = new Set<string>();
    try {
      const value = await readResult(
        line,
        (change) => changes.add(change),
        () => this.#turns.next(),
      );
      await this.#turns.next();
      return {
        value: cleanResult(value, this.#options.secrets, (change) => changes.add(change)),
        changes: [...changes],
      };
    } catch {
      this.#report(notJson(line.toString("utf8")));
      return null;
    }
  }

  #take(frame: Exclude<Frame, { type: "row" | "result" }>): void {
    const { ctx, secrets } = this.#options;
    if (frame.type === "progress") {
      ctx.onProgress(frame.percent, frame.message === null ? null : shortMessage(cleanMessage(frame.message, secrets)));
    } else if (frame.type === "log") {
      ctx.onLog(frame.level, cleanMessage(frame.message, secrets));
    } else if (frame.type === "snooze") {
      this.#lost.delete("snooze");
      this.snooze = { seconds: frame.seconds, reason: frame.reason };
    } else if (frame.type === "artifact") {
      this.artifacts.add(frame);
    } else {
      this.#report(frame);
    }
  }

  #report({ problem, lost }: Of<"invalid">): void {
    if (lost !== null && (lost !== "row" || this.#options.rows)) this.#lost.set(lost, problem);
    this.#problems += 1;
    if (this.#problems <= MOST_REPORTED_PROBLEMS) this.#options.ctx.onLog("warn", `fd 3: ${problem}`);
  }
}
