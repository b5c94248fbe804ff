"use client";

import { useEffect, useState } from "react";

/** Returns the value once it has been unchanged for `pauseMs`; compared as JSON. */
export function useDebounced<T>(value: T, pauseMs = 250): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another object of the same content is no change
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), pauseMs);
    return () => clearTimeout(timer);
  }, [text, pauseMs]);
  return settled;
}
