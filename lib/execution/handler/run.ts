/**
 * One attempt of a handler: its context, its time limit and its resources. Start with `HandlerRun`.
 *
 * `StopWatch` stops the attempt; after the grace period the handler is abandoned and its context throws. The commands
 * of a handler end with the attempt (`HandlerCommands`); the children that it enqueues are stored only with its
 * success.
 */

import { AttemptArtifacts } from "../artifacts/attempt-artifacts";
import type { HandlerContext } from "../define-job";
import { AttemptStoppedError } from "../errors";
import { AttemptCapture, NO_OUTPUT } from "../output/attempt-capture";
import { type SecretForms, secretForms } from "../output/secret-forms";
import type { Execution, Outcome } from "../types";
import { HandlerChildren } from "./children";
import { HandlerCommands } from "./commands";
import { AttemptHandlerContext, type ContextSource } from "./context";
import type { HandlerRunContext } from "./run-context";
import { HandlerSteps } from "./steps";
import { StopWatch } from "./stop-watch";

/**
 * One run of a handler. Rarely used parts are created on first use, because a worker runs thousands of handlers a
 * second.
 */
export class HandlerRun implements ContextSource {
  readonly secrets: SecretForms;
  readonly context: HandlerContext<unknown>;
  #stop: StopWatch | undefined;
  #capture: AttemptCapture | undefined;
  #commands: HandlerCommands | undefined;
  #artifacts: AttemptArtifacts | undefined;
  #steps: HandlerSteps | undefined;
  #children: HandlerChildren | undefined;
  #isOver = false;
  #reported: number | null = null;
  #commandPercent = 0;

  constructor(
    readonly ctx: HandlerRunContext,
    payload: unknown,
  ) {
    this.secrets = secretForms(ctx.secrets);
    this.context = new AttemptHandlerContext(this, payload);
  }

  /** Begins to watch. `onOver` is called when the handler was stopped and has used up its grace period. */
  watch(onOver: (outcome: Outcome) => void): void {
    this.#stop = new StopWatch(this.ctx, onOver);
  }

  get isStopped(): boolean {
    return this.#stop?.isStopped ?? false;
  }

  get signal(): AbortSignal {
    return this.#stop?.signal ?? this.ctx.signal;
  }

  get capture(): AttemptCapture {
    this.#capture ??= new AttemptCapture(this.secrets, this.ctx);
    return this.#capture;
  }

  get commands(): HandlerCommands {
    this.#commands ??= new HandlerCommands({
      registry: this.ctx.registry,
      ctx: this.ctx,
      signal: () => this.signal,
      capture: this.capture,
      secrets: this.secrets,
      artifacts: () => this.artifacts,
      onProgress: (percent, message) => this.showCommand(percent, message),
    });
    return this.#commands;
  }

  get artifacts(): AttemptArtifacts {
    this.#artifacts ??= new AttemptArtifacts(this.ctx, this.secrets);
    return this.#artifacts;
  }

  /**
   * Waits for artifacts that are ending, if there are any. @throws NonRetryableError when one was begun and not ended
   */
  settleArtifacts(): Promise<void> | undefined {
    return this.#artifacts?.settle();
  }

  get steps(): HandlerSteps {
    this.#steps ??= new HandlerSteps(this.ctx.steps);
    return this.#steps;
  }

  get children(): HandlerChildren {
    this.#children ??= new HandlerChildren();
    return this.#children;
  }

  check(): void {
    if (this.#isOver) throw new AttemptStoppedError("it has ended");
  }

  /** Shows the progress that the handler reports; never less than its commands have shown. */
  showProgress(percent: number, message: string | null): void {
    this.#reported = Math.max(percent, this.#commandPercent);
    this.ctx.onProgress(this.#reported, message);
  }

  /**
   * Shows the progress of a command. Once the handler has reported progress, its percentage stays, because only the
   * handler knows the whole.
   */
  showCommand(percent: number, message: string | null): void {
    if (this.#reported === null) this.#commandPercent = Math.max(this.#commandPercent, percent);
    this.ctx.onProgress(this.#reported ?? this.#commandPercent, message);
  }

  stoppedOutcome(detail: string): Outcome {
    return this.#stop?.outcome(detail) ?? { kind: "released" };
  }

  /** Ends the run: its context throws from now on. */
  end(): void {
    this.#isOver = true;
    this.#stop?.dispose();
  }

  /** Returns the execution. When it resolves, the commands have ended and unfinished artifacts are deleted. */
  execution(outcome: Outcome): Execution | Promise<Execution> {
    if (this.#commands || this.#artifacts) return this.#afterWork(outcome);
    return this.#executionOf(outcome, this.#capture?.finish({}) ?? NO_OUTPUT);
  }

  async #afterWork(outcome: Outcome): Promise<Execution> {
    await this.#commands?.close(outcome.kind === "lease_lost" ? "lease-lost" : "shutdown");
    await this.#artifacts?.discard();
    return this.#executionOf(outcome, this.#capture?.finish(this.#commands?.last ?? {}) ?? NO_OUTPUT);
  }

  #executionOf(outcome: Outcome, output: Execution["output"]): Execution {
    const asked = outcome.kind === "succeeded" ? this.#children?.all : undefined;
    return asked === undefined || asked.length === 0 ? { outcome, output } : { outcome, output, children: asked };
  }
}
