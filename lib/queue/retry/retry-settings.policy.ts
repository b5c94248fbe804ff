import { RETRY_CLASSES } from "../error-classes";
import { QueueError } from "../errors";
import type { DefinitionPatch, FieldProblem } from "../types";

type Bounds = Readonly<Record<string, readonly [least: number, most: number]>>;

/** The same bounds as the CHECKs of app.job_definitions. */
const RETRY_BOUNDS: Bounds = {
  delay_seconds: [0, 86_400],
  multiplier: [1, 10],
  max_delay_seconds: [0, 604_800],
  jitter: [0, 1],
};
const CLASS_BOUNDS: Bounds = {
  delay_seconds: [0, 86_400],
  multiplier: [1, 10],
  max_delay_seconds: [0, 604_800],
  max_attempts: [1, 100],
  timeout_multiplier: [1, 10],
};

/** Rejects retry settings out of bounds. @throws QueueError invalid-value, with pointers */
export function checkRetry({ retry, retry_classes }: Pick<DefinitionPatch, "retry" | "retry_classes">): void {
  const problems = [
    ...numberProblems(retry ?? {}, "/retry", RETRY_BOUNDS),
    ...Object.entries(retry_classes ?? {}).flatMap(([name, policy]) => classProblems(name, policy)),
  ];
  if (problems.length > 0) throw new QueueError("invalid-value", "The retry settings are not valid.", { problems });
}

function classProblems(name: string, policy: object): FieldProblem[] {
  const pointer = `/retry_classes/${name}`;
  if (!(RETRY_CLASSES as readonly string[]).includes(name)) {
    return [{ pointer, code: "unknown", detail: "is not a class of errors that can be set" }];
  }
  const allowed = [...Object.keys(CLASS_BOUNDS), "retryable"].filter(
    (field) => field !== "timeout_multiplier" || name === "timeout",
  );
  const strangers = Object.keys(policy).filter((field) => !allowed.includes(field));
  return [
    ...strangers.map((field) => ({ pointer: `${pointer}/${field}`, code: "unknown", detail: "is not known" })),
    ...numberProblems(policy, pointer, CLASS_BOUNDS),
  ];
}

function numberProblems(settings: object, pointer: string, bounds: Bounds): FieldProblem[] {
  return Object.entries(settings).flatMap(([field, value]) => {
    const range = bounds[field];
    if (range === undefined || value === null || value === undefined) return [];
    const [least, most] = range;
    const fits = typeof value === "number" && value >= least && value <= most;
    const isWhole = field !== "max_attempts" || Number.isInteger(value);
    if (fits && isWhole) return [];
    const detail = `must be ${field === "max_attempts" ? "a whole number " : ""}from ${least} to ${most}`;
    return [{ pointer: `${pointer}/${field}`, code: "range", detail }];
  });
}
