import { randomInt } from "node:crypto";

/** Returns a random time between half and one and a half times `ms`, so that many callers do not retry together. */
export function jitter(ms: number): number {
  return ms / 2 + randomInt(Math.max(1, Math.round(ms)));
}

export function waitMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
