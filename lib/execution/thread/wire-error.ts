import { faultStack, outcomeOfError, withOrigin } from "../classify-error";
import {
  AttemptLostError,
  AttemptStoppedError,
  CommandFailedError,
  JobError,
  ReleasedError,
  SnoozedError,
} from "../errors";
import { secretForms } from "../output/secret-forms";
import type { Outcome } from "../types";

/** An error between threads, by its meaning, because its class is lost on the way. */
export interface WireError {
  readonly outcome: Outcome;
  /** The whole stack of an unexpected error. */
  readonly fault: string | null;
  readonly stopped?: string;
  readonly command?: { readonly exitCode?: number | undefined; readonly signal?: string | undefined };
}

const NO_SECRETS = secretForms([]);

export function toWire(error: unknown): WireError {
  const outcome = outcomeOfError(error, NO_SECRETS);
  const fault = faultStack(error);
  if (error instanceof AttemptStoppedError) return { outcome, fault, stopped: error.message };
  if (!(error instanceof CommandFailedError)) return { outcome, fault };
  return { outcome, fault, command: { exitCode: error.exitCode, signal: error.signal } };
}

/** Rebuilds an error with the same meaning on this side. */
export function fromWire({ outcome, fault, stopped, command }: WireError): Error {
  if (stopped !== undefined) return new AttemptStoppedError(stopped.replace("the attempt was stopped: ", ""));
  if (outcome.kind === "lease_lost") return new AttemptLostError();
  if (outcome.kind === "snoozed") return new SnoozedError(outcome.seconds, outcome.reason);
  if (outcome.kind === "released" && outcome.reason !== undefined) return new ReleasedError(outcome.reason);
  if (outcome.kind !== "failed") return new AttemptStoppedError(outcome.kind);
  const { message, stack: _stack, kind: _kind, ...options } = outcome;
  const error = command ? new CommandFailedError(message, { ...options, ...command }) : new JobError(message, options);
  return withOrigin(error, fault);
}
