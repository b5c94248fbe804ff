"use client";

import { useEffect } from "react";
import { beforeHistory } from "./history-guard";

const QUESTION = "Discard your changes? They are not saved.";

/** Asks the user to discard unsaved input. Returns true if confirmed. */
export function mayDiscard(): boolean {
  return window.confirm(QUESTION);
}

/**
 * While `unsaved` is true, asks before the user leaves by a link of the console, with the browser's Back and Forward,
 * by reloading, or by closing the tab. Navigation by the router itself, as after a submit, is not asked about.
 */
export function useUnsavedWarning(unsaved: boolean): void {
  useEffect(() => {
    if (!unsaved) return;
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault();
    const onClick = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
      const staysHere =
        event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0;
      if (!(link instanceof HTMLAnchorElement) || link.target === "_blank" || staysHere) return;
      if (mayDiscard()) {
        // Already confirmed; a link that loads a whole page must not ask again.
        window.removeEventListener("beforeunload", onUnload);
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    };
    const here = { href: window.location.href, state: window.history.state as unknown };
    // Back and Forward have changed the address already. Stopping the event keeps the router from following.
    const stopHistory = beforeHistory((event) => {
      if (window.location.href === here.href) return;
      if (mayDiscard()) {
        window.removeEventListener("beforeunload", onUnload);
        return;
      }
      event.stopImmediatePropagation();
      window.history.pushState(here.state, "", here.href);
    });
    window.addEventListener("beforeunload", onUnload);
    document.addEventListener("click", onClick, true);
    return () => {
      stopHistory();
      window.removeEventListener("beforeunload", onUnload);
      document.removeEventListener("click", onClick, true);
    };
  }, [unsaved]);
}
