import type { IncomingMessage } from "node:http";

/** How the arrival of a body ended: `late` after the time limit, `gone` with the connection. */
export type Arrival = "whole" | "late" | "gone";

/**
 * Waits until the whole request has arrived, and leaves its body unread. The body must be smaller than a stream's
 * buffer (16 KiB), because a larger one would never arrive unread.
 */
export function wholeBody(req: IncomingMessage, withinMs: number): Promise<Arrival> {
  if (req.complete) return Promise.resolve("whole");
  return new Promise((resolve) => {
    const end = (arrival: Arrival) => {
      clearTimeout(timer);
      req.off("close", gone);
      resolve(arrival);
    };
    const gone = () => end("gone");
    const timer = setTimeout(end, withinMs, "late");
    req.once("close", gone);
    const push = req.push.bind(req);
    req.push = (chunk: Buffer | null, ...rest: []) => {
      const hasRoom = push(chunk, ...rest);
      if (chunk === null) end("whole");
      return hasRoom;
    };
  });
}
