const ACTS = ["pointerdown", "click", "keydown", "input", "wheel", "touchstart"] as const;

/** True at first, because a person opened the page. */
let acted = true;

if (typeof document !== "undefined") {
  const note = (event: Event) => {
    if (event.isTrusted) acted = true;
  };
  for (const act of ACTS) document.addEventListener(act, note, { capture: true, passive: true });
}

/**
 * Returns whether the person used this page since the last call. Requests without a use are the page's own (polls, live
 * updates). They are marked as such, because they must not keep the session of an absent person alive.
 */
export function takeActivity(): boolean {
  const was = acted;
  acted = false;
  return was;
}
