import type { IncomingMessage, ServerResponse } from "node:http";
import { CLIENT_IP_HEADER, REQUEST_ID_HEADER } from "@/lib/api/http/request-info";
import { networkOf } from "@/lib/auth/address-group";
import { TurnLines } from "@/lib/turn-lines";
import { holdUntilAnswered } from "./hold-until-answered";
import { refuse } from "./refuse";

const HEALTH_PATHS = ["/livez", "/readyz"] as const;
type HealthPath = (typeof HEALTH_PATHS)[number];

/** Returns true for the path of a health route. */
export const isHealthPath = (path: string): path is HealthPath => HEALTH_PATHS.some((health) => health === path);

/** Enough for the probes of an installation, which come one at a time. */
const AT_ONCE = 2;
/** The other turn goes to another network, which then need not wait for the request in progress. */
const OF_NETWORK = 1;
/** More than an installation has probes, and a fifth of a second of work. */
const MOST_WAITING = 20;
/** Longer than the slowest answer takes: readiness without a database. */
const PATIENCE_MS = 5000;

const TOO_MANY = {
  code: "unavailable",
  detail: "Too many health requests of your network at once. Try again in a second.",
  headers: { "retry-after": "1" },
} as const;

const openLines = () => new TurnLines({ atOnce: AT_ONCE, ofLine: () => OF_NETWORK, mostWaiting: MOST_WAITING });

/**
 * Health routes need no sign-in, and each request takes the framework a few milliseconds. So two requests of a route run
 * at once, and the others wait. Networks take turns, with a turn of the event loop between two requests. Each route has
 * its own turns, so a readiness request that waits for the database does not delay liveness.
 */
export class HealthTurns {
  readonly #lines: Readonly<Record<HealthPath, TurnLines>> = { "/livez": openLines(), "/readyz": openLines() };

  /**
   * Settles as `work` does once it had its turn. Answers 503 if too many requests of the network wait, or after five
   * seconds. The turn ends when the answer is complete or the connection closes, whether or not the client reads.
   */
  async run(path: HealthPath, { req, res }: Exchange, work: () => Promise<void>): Promise<void> {
    const ip = req.headers[CLIENT_IP_HEADER];
    const line = { name: networkOf(typeof ip === "string" ? ip : null) };
    const leave = await this.#lines[path].enter(line, PATIENCE_MS).catch(() => null);
    if (!leave) {
      refuse(res, { ...TOO_MANY, instance: path, requestId: String(req.headers[REQUEST_ID_HEADER] ?? "") });
      return;
    }
    const release = () => void setImmediate(leave);
    if (res.destroyed) release();
    else await holdUntilAnswered(res, () => untilClosed(res, work), release);
  }
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/** Settles as `work` does, or when the connection closes: the framework need not settle for a client that left. */
async function untilClosed(res: ServerResponse, work: () => Promise<void>): Promise<void> {
  const closed = new Promise<void>((resolve) => void res.once("close", resolve));
  await Promise.race([work(), closed]);
}
