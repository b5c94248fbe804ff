type Listener = (event: PopStateEvent) => void;

const listeners = new Set<Listener>();

/**
 * Listens to Back and Forward of the browser. It is called before the router starts, because listeners of one event are
 * called in the order in which they were added, and the router leaves the page at once.
 */
export function watchHistory(): void {
  window.addEventListener("popstate", (event) => {
    for (const listener of listeners) listener(event);
  });
}

/** Calls `listener` before the router follows Back or Forward. The answer removes it. */
export function beforeHistory(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
