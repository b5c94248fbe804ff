import type { IncomingMessage, ServerResponse } from "node:http";
import { performance } from "node:perf_hooks";
import { REQUEST_ID_HEADER } from "@/lib/api/http/request-info";
import type { DeviceSettings } from "@/lib/auth/device";
import { TooManyWaiting, TurnLines } from "@/lib/turn-lines";
import { lineOf } from "./line-of";
import { type HttpRefusal, refuse } from "./refuse";
import type { NextHandler } from "./render-page";

/**
 * Pages rendered at once. Pages share one event loop, so more at once only makes all slower. Under a flood from one
 * network, one page at a time renders 27 a second and an API call takes 92 ms; two at a time render 31, and the call
 * takes 160 ms. The second turn goes to another network, which then need not wait for the page in progress.
 */
const AT_ONCE = 2;
const OF_LINE = 1;
/** Three to four seconds of rendering. */
const MOST_WAITING = 100;
const PATIENCE_MS = 10_000;
/** Longer than two pages take together, so a turn that lasts this long may be waiting. */
const LOOK_EVERY_MS = 100;
/** The longest turn while other work keeps the event loop busy: many times what a page takes on a slow machine. */
const LONGEST_MS = 2000;

const TOO_MANY: Pick<HttpRefusal, "code" | "detail" | "headers"> = {
  code: "too-many-requests",
  detail: "Too many pages at once. Try again in a few seconds.",
  headers: { "retry-after": "2" },
};
const TOO_LATE: Pick<HttpRefusal, "code" | "headers"> = { code: "unavailable", headers: { "retry-after": "2" } };

/** Renders a few pages at a time. Networks, and the accounts of known browsers, take turns. */
export class PageTurns {
  readonly #lines = new TurnLines({ atOnce: AT_ONCE, ofLine: () => OF_LINE, mostWaiting: MOST_WAITING });
  readonly #settings: () => DeviceSettings;

  constructor(settings: () => DeviceSettings) {
    this.#settings = settings;
  }

  /** Renders the page when its caller's turn comes; answers 429 or 503 when that takes too long. */
  async render(req: IncomingMessage, res: ServerResponse, next: NextHandler): Promise<void> {
    const leave = await this.#lines.enter(lineOf(req, this.#settings()), PATIENCE_MS).catch((error: unknown) => {
      const refusal = error instanceof TooManyWaiting ? TOO_MANY : TOO_LATE;
      const [instance = "/"] = (req.url ?? "/").split("?", 1);
      refuse(res, { ...refusal, instance, requestId: String(req.headers[REQUEST_ID_HEADER] ?? "") });
      return null;
    });
    if (!leave) return;
    const end = holdTurn(leave);
    try {
      if (!res.destroyed) await next(req, res);
    } finally {
      end();
    }
  }
}

/**
 * Returns the function that ends a turn. A turn also ends while its page is still rendering, once the event loop has
 * been idle for more than half of the time: the page then waits for the database or a slow reader, and other pages can
 * render. A flood of pages never leaves the event loop idle, so it gains no turns from this.
 */
function holdTurn(leave: () => void): () => void {
  const began = performance.eventLoopUtilization();
  let hasEnded = false;
  const end = () => {
    clearInterval(timer);
    if (!hasEnded) leave();
    hasEnded = true;
  };
  const timer = setInterval(() => {
    const { idle, active } = performance.eventLoopUtilization(began);
    if (idle > active || idle + active > LONGEST_MS) end();
  }, LOOK_EVERY_MS);
  return end;
}
