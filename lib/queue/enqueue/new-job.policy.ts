import type { PayloadValidator } from "../definitions/arg-schema.policy";
import { LINK_FIELDS } from "../dependencies/link-jobs.policy";
import { QueueError } from "../errors";
import type { FieldProblem, NewJob } from "../types";
import { checkPayload, isPlainJson } from "./payload-check.policy";

const METADATA_MAX_BYTES = 16 * 1024;

/** Bounds of the numbers that a job may set; the same as the CHECKs of app.jobs. */
export const JOB_BOUNDS = {
  priority: [1, 1000],
  maxAttempts: [1, 100],
  timeoutSeconds: [1, 604_800],
  retryDelaySeconds: [0, 86_400],
  retryMultiplier: [1, 10],
} as const;

type Bounded = keyof typeof JOB_BOUNDS;
const BOUNDS = Object.entries(JOB_BOUNDS) as [Bounded, readonly [number, number]][];
const WHOLE: ReadonlySet<string> = new Set(["priority", "maxAttempts", "timeoutSeconds"]);
const MAX_TEXT = [
  ["correlationId", 200],
  ["sourceRef", 500],
  ["dedupeKey", 512],
] as const;
/** Characters in keys that a person cannot see, so that two keys would look the same. */
const LOOKS_LIKE_ANOTHER = /[\p{Cc}\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]/u;
/**
 * Prefix of the dedupe keys of triggers' jobs. Reserved, because a caller's key must not keep a trigger from firing.
 */
export const TRIGGER_KEYS = "trigger:";
const MAX_TAGS = 20;
const MAX_TAG_LENGTH = 100;
const WINDOW_MAX_SECONDS = 366 * 24 * 3600;

interface Check {
  /** JSON pointer of the job in the request. */
  readonly at: string;
  readonly validate: PayloadValidator;
}

/**
 * Refuses a job that could not be stored or run as requested. Each problem has a pointer with the field names of the
 * API.
 * @throws QueueError payload-too-large, payload-invalid, invalid-value
 */
export function checkNewJob(job: NewJob, check: Check): void {
  checkJobPayload(job, check);
  if (isBare(job)) return;
  const problems = CHECKS.flatMap((problemsOf) => problemsOf(job));
  if (problems.length > 0) refuse("invalid-value", problems, check.at);
}

/** Checks the payload only; part of `checkNewJob`. */
export function checkJobPayload(job: NewJob, { at, validate }: Check): void {
  const payload = job.payload === undefined ? {} : job.payload;
  const unstorable = checkPayload(payload);
  if (unstorable.some((problem) => problem.code === "too-large"))
    refuse("payload-too-large", unstorable, `${at}/payload`);
  if (unstorable.length > 0) refuse("payload-invalid", unstorable, `${at}/payload`);
  // Validated as it will be stored, where a Date is its ISO string.
  const mismatches = validate(isPlainJson(payload) ? payload : JSON.parse(JSON.stringify(payload)));
  if (mismatches.length > 0) refuse("payload-invalid", mismatches, `${at}/payload`);
}

/** Fields that are checked elsewhere: the payload in `checkJobPayload`, links in `linkJobs`. */
const NOT_HERE: ReadonlySet<string> = new Set(["definitionKey", "payload", ...LINK_FIELDS] satisfies (keyof NewJob)[]);

/** True for a job without any field that CHECKS test, as most are. */
function isBare(job: NewJob): boolean {
  for (const field in job) if (!NOT_HERE.has(field) && job[field as keyof NewJob] !== undefined) return false;
  return true;
}

function refuse(
  code: "payload-too-large" | "payload-invalid" | "invalid-value",
  found: readonly FieldProblem[],
  at: string,
): never {
  const problems = found.map((problem) => ({ ...problem, pointer: `${at}${problem.pointer}` }));
  throw new QueueError(code, code === "invalid-value" ? "The job is not valid." : "The payload is not valid.", {
    problems,
  });
}

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const problem = (field: string, code: string, detail: string): FieldProblem => ({
  pointer: `/${snake(field)}`,
  code,
  detail,
});

function numberProblems(job: NewJob): FieldProblem[] {
  return BOUNDS.flatMap(([field, [min, max]]) => {
    const value = job[field];
    if (value === undefined) return [];
    if (!Number.isFinite(value) || value < min || value > max)
      return [problem(field, "range", `must be from ${min} to ${max}`)];
    return WHOLE.has(field) && !Number.isInteger(value) ? [problem(field, "type", "must be a whole number")] : [];
  });
}

function textProblems(job: NewJob): FieldProblem[] {
  const texts = MAX_TEXT.flatMap(([field, max]) => {
    const value = job[field];
    if (value === undefined) return [];
    if (value.length === 0 || value.length > max) return [problem(field, "length", `must have 1 to ${max} characters`)];
    const unstorable = checkPayload(value).map((found) => ({ ...found, pointer: `/${snake(field)}` }));
    return field === "dedupeKey" && unstorable.length === 0 ? keyProblems(value, job) : unstorable;
  });
  return job.tags === undefined ? texts : [...texts, ...tagProblems(job.tags)];
}

function keyProblems(key: string, { source }: NewJob): FieldProblem[] {
  if (LOOKS_LIKE_ANOTHER.test(key))
    return [problem("dedupeKey", "format", "must not have control or invisible characters")];
  return key.startsWith(TRIGGER_KEYS) && source !== "event"
    ? [problem("dedupeKey", "reserved", `must not begin with ${TRIGGER_KEYS}, as the keys of triggers' jobs do`)]
    : [];
}

function tagProblems(tags: readonly string[]): FieldProblem[] {
  if (tags.length > MAX_TAGS) return [problem("tags", "length", `must have at most ${MAX_TAGS} entries`)];
  const badLength = tags.flatMap((tag, index) =>
    tag.length === 0 || tag.length > MAX_TAG_LENGTH
      ? [problem(`tags/${index}`, "length", `must have 1 to ${MAX_TAG_LENGTH} characters`)]
      : [],
  );
  return [...badLength, ...checkPayload(tags).map((found) => ({ ...found, pointer: `/tags${found.pointer}` }))];
}

/** True if the database and every reader of RFC 3339 can hold this time. */
export const isStorableDate = (date: Date): boolean =>
  !Number.isNaN(date.getTime()) && date.getUTCFullYear() >= 1970 && date.getUTCFullYear() <= 9999;

function timeProblems(job: NewJob): FieldProblem[] {
  if (job.scheduledFor === undefined && job.expiresAt === undefined) return [];
  const bad = (["scheduledFor", "expiresAt"] as const).filter((field) => {
    const value = job[field];
    return value !== undefined && !isStorableDate(value);
  });
  if (bad.length > 0) return bad.map((field) => problem(field, "date", "must be a time from 1970 to 9999"));
  return job.expiresAt && job.scheduledFor && job.expiresAt <= job.scheduledFor
    ? [problem("expiresAt", "order", "must be after scheduled_for")]
    : [];
}

const CONFLICTS: readonly unknown[] = [undefined, "return", "replace_payload", "reschedule"];

function dedupeProblems({ dedupe, dedupeKey }: NewJob): FieldProblem[] {
  if (dedupe === undefined) return [];
  if (dedupeKey === undefined) return [problem("dedupeKey", "required", "is required with dedupe")];
  if (!CONFLICTS.includes(dedupe.onConflict)) {
    return [problem("dedupe/onConflict", "enum", "must be return, replace_payload or reschedule")];
  }
  const seconds = dedupe.windowSeconds;
  if (dedupe.mode !== "window")
    return seconds === undefined ? [] : [problem("dedupe/windowSeconds", "unexpected", "is only for mode window")];
  const fits = seconds !== undefined && Number.isInteger(seconds) && seconds >= 1 && seconds <= WINDOW_MAX_SECONDS;
  return fits
    ? []
    : [problem("dedupe/windowSeconds", "range", `must be a whole number from 1 to ${WINDOW_MAX_SECONDS}`)];
}

function metadataProblems({ metadata }: NewJob): FieldProblem[] {
  if (metadata === undefined) return [];
  return checkPayload(metadata, { maxBytes: METADATA_MAX_BYTES }).map((found) => ({
    ...found,
    pointer: `/metadata${found.pointer}`,
  }));
}

const CHECKS = [numberProblems, textProblems, timeProblems, dedupeProblems, metadataProblems] as const;
