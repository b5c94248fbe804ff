import { vi } from "vitest";

/** Repeats the check until it passes. Allows a busy machine ten seconds, where `vi.waitFor` allows one. */
export const eventually = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 10_000 });
