import { randomBytes } from "node:crypto";
import { hash, verify } from "@node-rs/argon2";

export const PASSWORD_MIN = 12;
export const PASSWORD_MAX = 256;

// 64 MiB each: four at once is what a small machine can give.
const MAX_AT_ONCE = 4;
// The package's default algorithm is argon2id; its enum cannot be imported by a compiler that looks at one file at a time.
const OPTIONS = { memoryCost: 65_536, timeCost: 3, parallelism: 1 };

/** Hashes a password with argon2id. Throws RangeError when it has fewer than 12 or more than 256 characters. */
export async function hashPassword(password: string): Promise<string> {
  const text = password.normalize("NFKC");
  const length = [...text].length;
  if (length < PASSWORD_MIN || length > PASSWORD_MAX) {
    throw new RangeError(`a password has ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`);
  }
  return limited(() => hash(text, OPTIONS));
}

/** Checks a password; without a stored hash (unknown user) it does the same work and answers false. */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const text = password.normalize("NFKC").slice(0, PASSWORD_MAX * 2);
  const against = stored ?? (await dummyHash());
  const matches = await limited(() => verify(against, text).catch(() => false));
  return stored !== null && matches;
}

let dummy: Promise<string> | undefined;

function dummyHash(): Promise<string> {
  dummy ??= hashPassword(randomBytes(32).toString("hex"));
  return dummy;
}

let running = 0;
const waiting: (() => void)[] = [];

async function limited<T>(work: () => Promise<T>): Promise<T> {
  if (running >= MAX_AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
