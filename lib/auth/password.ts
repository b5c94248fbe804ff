import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";

export const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 256;

// 64 MiB each: four at once is what a small machine can give.
const MAX_AT_ONCE = 4;
// The package's default algorithm is argon2id; its enum cannot be imported by a compiler that looks at one file at a time.
const OPTIONS = { memoryCost: 65_536, timeCost: 3, parallelism: 1 };

/** Checks of one line that wait; one more is refused, because its answer would come too late. */
const MOST_WAITING = 20;

/**
 * Whose check it is. Lines take turns, so that many checks of one line delay no other. Lines that go first get three of four
 * turns, so that neither strangers delay them nor they keep strangers out.
 */
export interface Line {
  readonly name: string;
  readonly first: boolean;
}
const OWN: Line = { name: "own", first: true };
const FIRST_IN_A_ROW = 3;

/** Too many checks of a line wait. */
export class TooManyWaiting extends Error {
  override readonly name = "TooManyWaiting";
}

/**
 * Hashes a password with argon2id.
 * @throws RangeError when it has fewer than 12 or more than 256 characters
 * @throws TooManyWaiting
 */
export async function hashPassword(password: string, line: Line = OWN): Promise<string> {
  const text = password.normalize("NFKC");
  const length = [...text].length;
  if (length < PASSWORD_MIN || length > PASSWORD_MAX) {
    throw new RangeError(`a password has ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`);
  }
  return limited(line, () => hash(text, OPTIONS));
}

/**
 * Checks a password; without a stored hash (unknown user) it does the same work and answers false.
 * @throws TooManyWaiting
 */
export async function verifyPassword(password: string, stored: string | null, line: Line = OWN): Promise<boolean> {
  const text = password.normalize("NFKC").slice(0, PASSWORD_MAX * 2);
  const against = stored ?? (await dummyHash());
  const matches = await limited(line, () => verify(against, text).catch(() => false));
  return stored !== null && matches;
}

let dummy: Promise<string> | undefined;

function dummyHash(): Promise<string> {
  dummy ??= hashPassword(randomBytes(32).toString("hex"));
  return dummy;
}

let running = 0;
/** By name, the line whose turn is next first. */
type Lines = Map<string, (() => void)[]>;
const firstLines: Lines = new Map();
const otherLines: Lines = new Map();
let firstInARow = 0;

async function limited<T>({ name, first }: Line, work: () => Promise<T>): Promise<T> {
  if (running < MAX_AT_ONCE) running += 1;
  else {
    const lines = first ? firstLines : otherLines;
    const line = lines.get(name) ?? [];
    if (line.length >= MOST_WAITING) throw new TooManyWaiting(`more than ${MOST_WAITING} checks of ${name} wait`);
    lines.set(name, line);
    await new Promise<void>((resolve) => line.push(resolve));
  }
  try {
    return await work();
  } finally {
    const next = takeNext();
    if (next) next();
    else running -= 1;
  }
}

function takeNext(): (() => void) | undefined {
  const isOthersTurn = firstLines.size === 0 || (firstInARow >= FIRST_IN_A_ROW && otherLines.size > 0);
  firstInARow = isOthersTurn ? 0 : firstInARow + 1;
  return takeFrom(isOthersTurn ? otherLines : firstLines);
}

function takeFrom(lines: Lines): (() => void) | undefined {
  const [turn] = lines;
  if (turn === undefined) return undefined;
  const [name, line] = turn;
  const next = line.shift();
  lines.delete(name);
  if (line.length > 0) lines.set(name, line);
  return next;
}
