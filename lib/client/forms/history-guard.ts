type Listener = (event: PopStateEvent) => void;

const listeners = new Set<Listener>();

/**
 * Listens to the browser's Back and Forward. Call it before the router starts, because listeners of an event run in the
 * order in which they were added, and the router leaves the page at once.
 */
export function watchHistory(): void {
  window.addEventListener("popstate", (event) => {
    for (const listener of listeners) listener(event);
  });
}

/** Calls `listener` before the router handles Back or Forward. Returns the function that removes it. */
export function beforeHistory(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
