import { askForWholeLooks } from "@/lib/api/remote/lanes";
import { type ApiRuntime, getRuntime } from "@/lib/api/runtime";
import { CHANNELS, describeRemoteLanes } from "@/lib/queue/remote";
import { type Waiter, WorkHub } from "@/web/live/work-hub";
import { getListener } from "./listener";

const SLOT = Symbol.for("leasehold.work-hub");
const slots = globalThis as unknown as Record<symbol, Waiting | undefined>;

interface Waiting {
  readonly hub: WorkHub;
  count: number;
  leave: () => void;
}

/** Wakes `waiter` when there may be work for it, until the returned function is called. */
export function waitForWork(waiter: Waiter): () => void {
  slots[SLOT] ??= { hub: openHub(getRuntime()), count: 0, leave: () => {} };
  const waiting = slots[SLOT];
  const remove = waiting.hub.add(waiter);
  if (waiting.count === 0) waiting.leave = listenFor(waiting.hub);
  waiting.count += 1;
  return () => {
    remove();
    waiting.count -= 1;
    if (waiting.count === 0) waiting.leave();
  };
}

function openHub({ worker, log }: ApiRuntime): WorkHub {
  return new WorkHub(
    (laneNos) => describeRemoteLanes(worker, laneNos),
    (error) => log.warn({ error: String(error) }, "lanes could not be read"),
  );
}

function listenFor(hub: WorkHub): () => void {
  return getListener().join({
    onNotify: (channel, payload) => {
      if (channel === CHANNELS.work) heard(hub, payload);
      else if (channel === CHANNELS.cancel) hub.cancel();
    },
    onReady: () => heard(hub, "*"),
  });
}

function heard(hub: WorkHub, payload: string): void {
  if (payload === "*") askForWholeLooks();
  hub.work(payload);
}
