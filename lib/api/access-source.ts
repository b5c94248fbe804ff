import { ACCESS_CHANNEL, accessMarks } from "@/lib/auth/access-marks";
import { AccessWatch, type Watched } from "@/lib/web/access-watch";
import { getListener } from "./listener";
import { type ApiRuntime, getRuntime } from "./runtime";

const SLOT = Symbol.for("leasehold.access-watch");
const slots = globalThis as unknown as Record<symbol, AccessWatch | undefined>;

/** The process's one watch over what is open. */
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
        // What was sent while it was not connected is found by the poll.
        onReady: () => {},
      }),
    onError: (error) => runtime.log.warn({ error: String(error) }, "open streams could not be rechecked"),
  });
}
