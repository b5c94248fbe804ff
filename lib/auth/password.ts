import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";
import { TurnLines, type WaitingLine } from "@/lib/turn-lines";

export const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 256;

// 64 MiB each; four at once is what a small machine can afford.
const MAX_AT_ONCE = 4;
// The package's default algorithm is argon2id. Its enum cannot be imported by a compiler that sees one file at a time.
const OPTIONS = { memoryCost: 65_536, timeCost: 3, parallelism: 1 };

/** Maximum waiting checks per line. A further check is refused, because its answer would come too late. */
const MOST_WAITING = 20;

const OWN: WaitingLine = { name: "own", first: true };
const checks = new TurnLines({ atOnce: MAX_AT_ONCE, mostWaiting: MOST_WAITING });

/**
 * Hashes a password with argon2id.
 * @throws RangeError when it has fewer than 12 or more than 256 characters
 * @throws TooManyWaiting while too many hashes of the line wait
 */
export async function hashPassword(password: string, line: WaitingLine = OWN): Promise<string> {
  const text = password.normalize("NFKC");
  const length = [...text].length;
  if (length < PASSWORD_MIN || length > PASSWORD_MAX) {
    throw new RangeError(`a password has ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`);
  }
  return limited(line, () => hash(text, OPTIONS));
}

/**
 * Checks a password. Without a stored hash (unknown user) it does the same work and returns false.
 * @throws TooManyWaiting while too many hashes of the line wait
 */
export async function verifyPassword(
  password: string,
  stored: string | null,
  line: WaitingLine = OWN,
): Promise<boolean> {
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

async function limited<T>(line: WaitingLine, work: () => Promise<T>): Promise<T> {
  const leave = await checks.enter(line);
  try {
    return await work();
  } finally {
    leave();
  }
}
