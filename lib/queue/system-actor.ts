import type { Actor } from "./types";

/** The actor of actions without a requester: schedules, ends of attempts, events of the application. */
export const SYSTEM: Actor = { kind: "system", id: null, userId: null };
