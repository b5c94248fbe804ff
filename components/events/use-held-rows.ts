"use client";

import { useState } from "react";

interface HasId {
  readonly id: string;
}

/**
 * Rows that do not move while somebody points at them or stands in them: known ones change where they are, new ones
 * wait to be let in.
 */
export function useHeldRows<T extends HasId>(latest: readonly T[] | undefined) {
  const [held, setHeld] = useState(false);
  const [shown, setShown] = useState(latest);
  const [known, setKnown] = useState(latest);
  if (known !== latest) {
    setKnown(latest);
    if (!held || !shown || !latest) setShown(latest);
    else {
      const fresh = new Map(latest.map((row) => [row.id, row]));
      setShown(shown.map((row) => fresh.get(row.id) ?? row));
    }
  }
  const there = new Set(shown?.map(({ id }) => id));
  const waiting = latest?.filter(({ id }) => !there.has(id)).length ?? 0;
  const release = () => {
    setHeld(false);
    setShown(latest);
  };
  return { rows: shown, waiting, hold: () => setHeld(true), release };
}
