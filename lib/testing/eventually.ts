import { vi } from "vitest";

/** Repeats the check until it passes. Gives a busy machine ten seconds, where `vi.waitFor` gives one. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 10_000 });
