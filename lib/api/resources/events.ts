import type * as z from "zod";
import type { publishEventsBody, TenantPermission, testTriggersBody } from "@/lib/contract";
import type { Event, NewEvent, TestRequest } from "@/lib/queue/types";
import { defined } from "./filters";

type Body = z.output<typeof publishEventsBody>;
type OneEvent = Pick<Body, "name" | "data" | "producer_id" | "correlation_id">;

/** Converts the events of a request to the queue's terms. `depth` is the chain depth of the job that publishes them. */
export function newEvents({ events, ...single }: Body, depth: number): NewEvent[] {
  return (events ?? [single]).map((event) => newEvent(event, depth));
}

function newEvent(event: OneEvent, depth: number): NewEvent {
  return {
    name: event.name ?? "",
    data: event.data ?? {},
    source: "api",
    depth,
    ...defined({ producerId: event.producer_id, correlationId: event.correlation_id }),
  };
}

export function testRequest(body: z.output<typeof testTriggersBody>): TestRequest {
  const { draft } = body;
  return defined({
    event: body.event && newEvent(body.event, 0),
    replay: body.replay,
    trigger_id: body.trigger_id,
    draft: draft && defined(draft),
  });
}

/** Events of jobs include their outcome, so their data is only for callers with `jobs:read`. */
const OF_JOBS = /^job\./;

/** Returns an event with the data that a caller with these permissions may see. */
export const shownEvent = (event: Event, permissions: readonly TenantPermission[]): Event =>
  permissions.includes("jobs:read") || !OF_JOBS.test(event.name) ? event : { ...event, data: {} };
