import { type ApiRuntime, getRuntime, onShutdown } from "@/lib/api/runtime";
import { type JobUpdate, STREAM_EVENTS } from "@/lib/contract";
import { inLine } from "@/lib/db";
import { CHANNELS, changedJobs, type FeedPosition, type JobRow, summarizeJobs, tenantLanes } from "@/lib/queue";
import type { FeedSource } from "@/web/live/feed-source";
import { StreamHub } from "@/web/live/stream-hub";
import { getListener } from "./listener";

const SLOT = Symbol.for("leasehold.stream-hub");
const slots = globalThis as unknown as Record<symbol, StreamHub | undefined>;

/** Returns the process's one hub, which connects when it has a subscriber. */
export function getHub(): StreamHub {
  slots[SLOT] ??= openHub(getRuntime());
  return slots[SLOT];
}

function openHub(runtime: ApiRuntime): StreamHub {
  const hub = new StreamHub(sourceOf(runtime), (onWake) => {
    const leave = getListener().join({
      onNotify: (channel, payload) => {
        if (channel === CHANNELS.changes) onWake(payload);
      },
      onReady: () => onWake("*"),
    });
    return { close: async () => leave() };
  });
  onShutdown(() => void hub.close());
  return hub;
}

function sourceOf(runtime: ApiRuntime): FeedSource {
  return {
    lanes: (tenantId) => tenantLanes(inLine(runtime.web, tenantId), tenantId),
    onError: (error) => runtime.log.warn({ error: String(error) }, "changes could not be read"),
    changes: async (tenantId, position) => {
      const isFirst = position === undefined;
      const db = inLine(runtime.web, tenantId);
      const found = await changedJobs(db, { tenantId }, position as FeedPosition | undefined);
      const changes = found.changed.map((job) => ({ event: STREAM_EVENTS.jobChanged, data: toChange(job) }));
      if (!isFirst && changes.length === 0) return { events: [], position: found.position };
      const summary = await summarizeJobs(db, { tenantId });
      return { events: [...changes, { event: STREAM_EVENTS.summary, data: summary }], position: found.position };
    },
  };
}

/** A change contains no error, so there is nothing to mask. */
function toChange(row: JobRow): JobUpdate {
  return {
    id: row.id,
    status: row.status,
    definition_key: row.definition_key,
    progress: row.progress,
    attempt_count: row.attempt_count,
    max_attempts: row.max_attempts,
    run_no: row.run_no,
    started_at: row.started_at,
    finished_at: row.finished_at,
    claimed_by_worker: row.claimed_by_worker,
    cancel_requested_at: row.cancel_requested_at,
  };
}
