import { checkPayload } from "../enqueue/payload-check.policy";
import { QueueError } from "../errors";
import type { FieldProblem, NewEvent } from "../types";

const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._:/-]{0,198}[A-Za-z0-9])?$/;
const TEXT_MAX = 200;

/**
 * Rejects an event that could not be stored as it is. Every problem has a pointer with API field names.
 * @throws QueueError payload-too-large, payload-invalid (of its data), invalid-value
 */
export function checkNewEvent(event: NewEvent, at: string): void {
  const { data = {} } = event;
  const unstorable = checkPayload(data);
  if (unstorable.some((problem) => problem.code === "too-large")) refuse("payload-too-large", unstorable, `${at}/data`);
  if (unstorable.length > 0) refuse("payload-invalid", unstorable, `${at}/data`);
  const problems = [
    ...(NAME.test(event.name) ? [] : [problem("name", "format", "is not an event name")]),
    ...(typeof data === "object" && data !== null && !Array.isArray(data)
      ? []
      : [problem("data", "type", "must be an object")]),
    ...textProblems("producer_id", event.producerId),
    ...textProblems("correlation_id", event.correlationId),
  ];
  if (problems.length > 0) refuse("invalid-value", problems, at);
}

/** Event names that only the application may publish, because they state facts about jobs and triggers. */
const RESERVED = /^(?:job|trigger)\./;

/**
 * Rejects an event with a reserved name, unless the application publishes it.
 * @throws QueueError invalid-value
 */
export function refuseReserved({ name, source }: NewEvent, at: string): void {
  if ((source !== "api" && source !== "job") || !RESERVED.test(name)) return;
  refuse("invalid-value", [problem("name", "reserved", "has a prefix reserved for events of jobs and triggers")], at);
}

function textProblems(field: string, text: string | undefined): FieldProblem[] {
  if (text === undefined) return [];
  if (text.length === 0 || text.length > TEXT_MAX)
    return [problem(field, "length", `must have 1 to ${TEXT_MAX} characters`)];
  return checkPayload(text).map((found) => ({ ...found, pointer: `/${field}` }));
}

const problem = (field: string, code: string, detail: string): FieldProblem => ({ pointer: `/${field}`, code, detail });

function refuse(code: QueueError["code"], found: readonly FieldProblem[], at: string): never {
  const message = code === "invalid-value" ? "The event is not valid." : "The event's data is not valid.";
  throw new QueueError(code, message, {
    problems: found.map((one) => ({ ...one, pointer: `${at}${one.pointer}` })),
  });
}
