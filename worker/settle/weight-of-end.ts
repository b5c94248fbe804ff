import type { AttemptEnd } from "@/lib/queue/worker";

const OF_VALUE = 32;

/**
 * Estimates the characters that storing an end takes: texts, result, and a little for each value, because writing many
 * small values takes as long. Stops counting once the sum exceeds `enough`.
 */
export function weightOfEnd({ output, errorText, result }: AttemptEnd, enough: number): number {
  let sum = (output?.stdoutTail?.length ?? 0) + (output?.stderrTail?.length ?? 0) + (errorText?.length ?? 0);
  const todo: unknown[] = [result];
  while (todo.length > 0 && sum <= enough) {
    const value = todo.pop();
    sum += OF_VALUE;
    if (typeof value === "string") sum += value.length;
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value) todo.push(item);
      continue;
    }
    for (const [key, item] of Object.entries(value)) {
      sum += key.length;
      todo.push(item);
    }
  }
  return sum;
}
