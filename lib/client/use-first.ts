"use client";

import { useState } from "react";

/**
 * Returns the first known value (not undefined) for the lifetime of the component. Elements that depend on it keep
 * their position on the page, however the value changes.
 */
export function useFirst<T>(value: T | undefined): T | undefined {
  const [first, setFirst] = useState(value);
  if (first === undefined && value !== undefined) setFirst(() => value);
  return first ?? value;
}
