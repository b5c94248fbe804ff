import type { RemoteScope } from "@/lib/queue/remote";
import type { WaitedLane } from "@/web/live/work-hub";
import type { WorkerKeyPrincipal } from "../authorize";
import { HttpProblem } from "../http/problem";

interface Wish {
  readonly definitions: readonly string[];
  readonly queues?: readonly string[] | undefined;
}

/** Returns the scope that a worker asked for, if its key allows it. @throws HttpProblem insufficient-scope otherwise */
export function scopeOf(key: WorkerKeyPrincipal, wish: Wish): RemoteScope {
  const beyond = [
    ...outside(wish.definitions, key.definitions, "definitions"),
    ...(key.queues ? outside(wish.queues ?? [], key.queues, "queues") : []),
  ];
  if (beyond.length > 0) {
    throw new HttpProblem("insufficient-scope", {
      detail: "The worker key's scope does not cover the request.",
      errors: beyond.map((pointer) => ({ pointer, code: "not-in-scope", detail: "is not in the scope of this key" })),
    });
  }
  return { definitions: wish.definitions, queues: wish.queues ?? key.queues, tenantId: key.tenantId };
}

/** Returns true if a lane is in a scope. */
export function covers({ definitions, queues, tenantId }: RemoteScope, lane: WaitedLane): boolean {
  return (
    definitions.includes(lane.definitionKey) &&
    (queues === null || queues.includes(lane.queue)) &&
    (tenantId === null || tenantId === lane.tenantId)
  );
}

function outside(wanted: readonly string[], allowed: readonly string[], field: string): string[] {
  return wanted.flatMap((name, at) => (allowed.includes(name) ? [] : [`/${field}/${at}`]));
}
