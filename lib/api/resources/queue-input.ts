import type { CreateLimit, CreatePause, UpdateLimit, UpdateQueue } from "@/lib/contract";
import type { LimitInput, LimitValues, PauseInput, QueuePatch } from "@/lib/queue/types";
import { dateOf, defined } from "./filters";

/** Converts the body of a queue request to the queue's terms. */
export function queueInput(body: UpdateQueue): QueuePatch {
  return defined(body);
}

/** Converts the body of a pause request to the queue's terms. */
export function pauseInput(body: CreatePause): PauseInput {
  return {
    scope: body.scope,
    reason: body.reason,
    ...defined({
      queue: body.scope === "queue" ? body.queue : undefined,
      definitionKey: body.scope === "definition" ? body.definition_key : undefined,
      tenant: body.scope === "tenant" ? body.tenant : undefined,
      until: dateOf(body.until),
    }),
  };
}

/** Converts the body of a request for a new limit to the queue's terms. */
export function limitInput(body: CreateLimit): LimitInput {
  return {
    scope: body.scope,
    ...limitValues(body),
    ...defined({
      queue: "queue" in body ? body.queue : undefined,
      definitionKey: "definition_key" in body ? body.definition_key : undefined,
      tenant: "tenant" in body ? body.tenant : undefined,
    }),
  };
}

/** Converts the numbers of a limit to the queue's terms. */
export function limitValues(body: UpdateLimit): Partial<LimitValues> {
  return defined({ maxRunning: body.max_running, startsPerSecond: body.starts_per_second, burst: body.burst });
}
