import type { Actor } from "./types";

/** Who acts where nobody asked: schedules, ends of attempts, events of the application. */
export const SYSTEM: Actor = { kind: "system", id: null, userId: null };
