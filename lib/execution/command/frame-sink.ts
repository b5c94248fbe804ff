import type { Readable } from "node:stream";
import { Turns } from "@/lib/turns";
import type { NamedFile } from "../artifacts/collect";
import { cleanMessage, reportTo } from "../output/clean-result";
import { type Frame, FrameReader, type LostKind, shortMessage } from "../output/frames";
import type { SecretForms } from "../output/secret-forms";
import type { RunContext } from "../types";
import type { RowChannel } from "./row-channel";

const MOST_REPORTED_PROBLEMS = 10;
const MOST_ARTIFACTS = 1000;

export interface FrameSinkOptions {
  readonly ctx: Pick<RunContext, "onProgress" | "onLog">;
  readonly secrets: SecretForms;
  readonly rows: RowChannel | null;
}

/** Reads what a command says on fd 3 and passes it on. */
export class FrameSink {
  /** Waiting for the handler to take rows, which is no reason to lose patience. */
  isBlocked = false;
  lastActivity = performance.now();
  result: unknown = null;
  snooze: { readonly seconds: number; readonly reason: string | null } | null = null;
  /** Files to be kept when the command has ended. */
  readonly artifacts: NamedFile[] = [];
  readonly #lost = new Map<LostKind, string>();
  readonly #options: FrameSinkOptions;
  readonly #turns = new Turns();
  #problems = 0;

  constructor(options: FrameSinkOptions) {
    this.#options = options;
  }

  /** An unreadable line that the outcome depends on: rows that somebody reads, the last result, a wish to snooze. */
  get lost(): string | null {
    const [first] = this.#lost;
    return first === undefined ? null : `the command sent a ${first[0]} that cannot be read: ${first[1]}`;
  }

  /** Resolves at the end of the stream; does not throw. */
  async read(stream: Readable): Promise<void> {
    const reader = new FrameReader();
    try {
      for await (const chunk of stream) await this.#takeAll(reader.push(chunk as Buffer));
    } catch {
      // Cut off when the command's processes were killed.
    }
    await this.#takeAll(reader.flush());
  }

  async #takeAll(frames: Iterable<Frame>): Promise<void> {
    for (const frame of frames) {
      await this.#turns.next();
      this.lastActivity = performance.now();
      if (frame.type === "row") await this.#passRow(frame.value);
      else this.#take(frame);
    }
  }

  async #passRow(value: unknown): Promise<void> {
    this.isBlocked = true;
    await this.#options.rows?.push(value);
    this.isBlocked = false;
    this.lastActivity = performance.now();
  }

  #take(frame: Exclude<Frame, { type: "row" }>): void {
    const { ctx, secrets } = this.#options;
    if (frame.type === "progress") {
      ctx.onProgress(frame.percent, frame.message === null ? null : shortMessage(cleanMessage(frame.message, secrets)));
    } else if (frame.type === "log") {
      ctx.onLog(frame.level, cleanMessage(frame.message, secrets));
    } else if (frame.type === "result") {
      this.result = frame.value ?? null;
      this.#lost.delete("result");
      for (const change of frame.changes) reportTo(ctx)(change);
    } else if (frame.type === "snooze") {
      this.#lost.delete("snooze");
      this.snooze = { seconds: frame.seconds, reason: frame.reason };
    } else if (frame.type === "artifact") {
      // One above the limit is taken too, so that the store refuses it and the attempt says so.
      if (this.artifacts.length <= MOST_ARTIFACTS) this.artifacts.push(frame);
    } else {
      this.#report(frame);
    }
  }

  #report({ problem, lost }: Extract<Frame, { type: "invalid" }>): void {
    if (lost !== null && (lost !== "row" || this.#options.rows)) this.#lost.set(lost, problem);
    this.#problems += 1;
    if (this.#problems <= MOST_REPORTED_PROBLEMS) this.#options.ctx.onLog("warn", `fd 3: ${problem}`);
  }
}
