const ACTS = ["pointerdown", "click", "keydown", "input", "wheel", "touchstart"] as const;

/** Opening the page is an act of the person. */
let acted = true;

if (typeof document !== "undefined") {
  const note = (event: Event) => {
    if (event.isTrusted) acted = true;
  };
  for (const act of ACTS) document.addEventListener(act, note, { capture: true, passive: true });
}

/**
 * Returns whether the person used this page since the last call. Requests between are the page's own (polls, live updates), and say
 * so, because they must not keep a session from ending when nobody is there.
 */
export function takeActivity(): boolean {
  const was = acted;
  acted = false;
  return was;
}
