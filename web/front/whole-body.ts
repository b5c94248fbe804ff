import type { IncomingMessage } from "node:http";

/** How the arrival of a body ended: `late` after the time limit, `gone` with the connection. */
export type Arrival = "whole" | "late" | "gone";

/**
 * Waits until a request has arrived to its last byte, and leaves its body to be read by others. The body must be smaller than
 * what a stream keeps before it stops the sender (16 KiB): more would never arrive unread.
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
