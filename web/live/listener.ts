import { type ApiRuntime, getRuntime, onShutdown } from "@/lib/api/runtime";
import { ACCESS_CHANNEL } from "@/lib/auth/access-marks";
import { listen } from "@/lib/db";
import { CHANNELS } from "@/lib/queue";
import { SharedListener } from "@/web/live/shared-listener";

const SLOT = Symbol.for("leasehold.listener");
const slots = globalThis as unknown as Record<symbol, SharedListener | undefined>;

/** Returns the process's one listening connection, which is open while it has listeners. */
export function getListener(): SharedListener {
  slots[SLOT] ??= openListener(getRuntime());
  return slots[SLOT];
}

function openListener({ config, log }: ApiRuntime): SharedListener {
  const listener = new SharedListener(({ onNotify, onReady }) =>
    listen({
      url: config.listenUrl,
      channels: [...Object.values(CHANNELS), ACCESS_CHANNEL],
      applicationName: "leasehold-web-listen",
      onNotify,
      onReady,
      onError: (error) => log.warn({ error: error.message }, "listening was interrupted"),
    }),
  );
  onShutdown(() => void listener.close());
  return listener;
}
