const ACTS = ["pointerdown", "click", "keydown", "input", "wheel", "touchstart"] as const;

/** True at first, because a user opened the page. */
let acted = true;

if (typeof document !== "undefined") {
  const note = (event: Event) => {
    if (event.isTrusted) acted = true;
  };
  for (const act of ACTS) document.addEventListener(act, note, { capture: true, passive: true });
}

/**
 * Returns true if the user acted on this page since the last call. Requests without such an action are the page's own
 * (polls, live updates). They are marked, because they must not keep the session of an absent user alive.
 */
export function takeActivity(): boolean {
  const was = acted;
  acted = false;
  return was;
}
