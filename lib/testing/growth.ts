import { expect } from "vitest";

/** Of the largest of three inputs, in characters; the others are a quarter and a sixteenth of it. */
const LARGEST = 64 * 1024;
/** Nothing that is not linear reads the largest input in this time; most inputs need a small part of it. */
const SURELY_LINEAR_MS = 5;
/** How far the cost may exceed what is in proportion to the size. */
const SLACK = 1.5;
/** What the clock of the processor and the garbage collector add to any cost. */
const NOISE_MS = 20;
const ROUNDS = 6;

/**
 * Fails when the cost of an input grows faster than its size. In processor time, and of several rounds the best one, so
 * that a busy machine does not change it.
 */
export function expectLinear(
  name: string,
  make: (characters: number) => string,
  { read, largest = LARGEST }: { readonly read: (text: string) => unknown; readonly largest?: number },
): void {
  const large = make(largest);
  if (cost(read, large) < SURELY_LINEAR_MS) return;
  const sizes = [16, 4, 1] as const;
  const best = new Map<number, number>(sizes.map((part) => [part, Number.POSITIVE_INFINITY]));
  const inputs = new Map<number, string>(sizes.map((part) => [part, part === 1 ? large : make(largest / part)]));
  const of = (part: number) => best.get(part) ?? 0;
  const isLinear = () => [16, 4].every((part) => of(1) <= part * SLACK * of(part) + NOISE_MS);
  for (let round = 0; round < ROUNDS && (round === 0 || !isLinear()); round += 1)
    for (const part of sizes) best.set(part, Math.min(of(part), cost(read, inputs.get(part) ?? "")));
  const told = sizes.map((part) => `${largest / part} characters: ${of(part).toFixed(1)} ms`).join(", ");
  expect(isLinear(), `${name} is not linear: ${told}`).toBe(true);
}

/** Milliseconds of processor time. Refusing an input is reading it, too. */
function cost(read: (text: string) => unknown, text: string): number {
  const began = process.cpuUsage();
  try {
    read(text);
  } catch {
    // A refusal.
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}
