import { useSyncExternalStore } from "react";

const PREFIX = "leasehold.";
const listeners = new Set<() => void>();

function read(name: string): string | null {
  try {
    return window.localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

function write(name: string, value: string): void {
  try {
    window.localStorage.setItem(PREFIX + name, value);
  } catch {
    // A browser without storage keeps the default.
  }
  for (const notify of listeners) notify();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** A choice stored in this browser and shared by its tabs. Returns the fallback on the server and while hydrating. */
export function usePreference<T extends string>(
  name: string,
  choices: readonly [T, ...T[]],
): readonly [T, (value: T) => void] {
  const stored = useSyncExternalStore(
    subscribe,
    () => read(name),
    () => null,
  );
  const value = choices.find((choice) => choice === stored) ?? choices[0];
  return [value, (next) => write(name, next)];
}
