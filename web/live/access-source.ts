import { type ApiRuntime, getRuntime } from "@/lib/api/runtime";
import { ACCESS_CHANNEL, accessMarks } from "@/lib/auth/access-marks";
import { AccessWatch, type Watched } from "@/web/live/access-watch";
import { getListener } from "./listener";

const SLOT = Symbol.for("leasehold.access-watch");
const slots = globalThis as unknown as Record<symbol, AccessWatch | undefined>;

/** Returns this process's watch over streams and long answers that stay open after they were authorised. */
export function getAccessWatch(): AccessWatch {
  slots[SLOT] ??= openWatch(getRuntime());
  return slots[SLOT];
}

function openWatch(runtime: ApiRuntime): AccessWatch {
  const credentials = (watched: readonly Watched[], wanted: Watched["kind"]) => [
    ...new Set(watched.filter(({ kind }) => kind === wanted).map(({ credential }) => credential)),
  ];
  return new AccessWatch({
    marks: (watched) =>
      accessMarks(runtime.auth, {
        sessions: credentials(watched, "session"),
        keys: credentials(watched, "key"),
      }),
    listen: (onChange) =>
      getListener().join({
        onNotify: (channel, payload) => {
          if (channel === ACCESS_CHANNEL) onChange(payload);
        },
        // The poll finds changes that were missed while the listener was disconnected.
        onReady: () => {},
      }),
    onError: (error) => runtime.log.warn({ error: String(error) }, "open streams could not be rechecked"),
  });
}
