"use client";

import { useState } from "react";

/**
 * The first value that was known (not undefined), for as long as the component stands. What depends on it stays where it
 * is on the page, however the value changes.
 */
export function useFirst<T>(value: T | undefined): T | undefined {
  const [first, setFirst] = useState(value);
  if (first === undefined && value !== undefined) setFirst(() => value);
  return first ?? value;
}
