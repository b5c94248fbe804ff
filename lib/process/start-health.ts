import type { Logger } from "@/lib/observability/log";
import { misfit, type Needs, requireFit } from "./fitness";
import { type HealthServer, startHealthServer } from "./health";
import type { Shutdown } from "./shutdown";

interface HealthStart {
  readonly port: number;
  readonly host: string;
  readonly log: Logger;
  readonly shutdown: Shutdown;
}

/**
 * Starts the health server, and waits until the process fits its database or shuts down. Until the caller sets its own
 * check, /readyz answers 503 with what does not fit. The server closes when the process drains.
 * @throws MisfitError when the process does not fit
 */
export async function startHealth(needs: Needs, { port, host, log, shutdown }: HealthStart): Promise<HealthServer> {
  const ready = async () => (await misfit(needs))?.summary ?? "starting";
  const health = await startHealthServer({ port, host, ready });
  shutdown.onDrain(() => health.close());
  await requireFit(needs, { log, signal: shutdown.signal });
  return health;
}
