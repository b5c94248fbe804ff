import { setTimeout } from "node:timers/promises";
import type { Runner } from "@/lib/db";
import { accountBucket, addressBucket, type Bucket, deviceBucket, pairBucket, takeFromBucket } from "./throttle";

/** Who tries to sign in to which account. */
export interface SignInAttempt {
  /** In lower case and without blanks around it. */
  readonly email: string;
  readonly ip: string | null;
  /** The browser, if it signed in to this account before (`findDevice`). */
  readonly device: string | null;
}

export interface Admission {
  /** The browser signed in to the account before. */
  readonly isKnown: boolean;
  /** 0, or the seconds after which the next attempt may be admitted. */
  readonly waitSeconds: number;
  /** The account had too many wrong passwords from all addresses together: call `slowDown` before checking the password. */
  readonly slow: boolean;
  /** Give these back when the sign-in succeeds, so that only failures count. */
  readonly taken: readonly Bucket[];
}

/**
 * Takes the tokens of a sign-in. An attempt is refused by its address, and by account and address together, so that wrong
 * passwords from one address do not lock a person out elsewhere. A browser that signed in before has a bucket of its own:
 * what others do neither refuses it nor slows it down. An attempt that its address refuses takes no token of the account.
 */
export async function admitSignIn(db: Runner, { email, ip, device }: SignInAttempt): Promise<Admission> {
  const taken: Bucket[] = [];
  const isKnown = device !== null;
  const take = async (bucket: Bucket): Promise<number> => {
    const wait = await takeFromBucket(db, bucket);
    if (wait === 0) taken.push(bucket);
    return wait;
  };
  const refusing = device === null ? [addressBucket(ip), pairBucket(email, ip)] : [deviceBucket(device)];
  for (const bucket of refusing) {
    const waitSeconds = await take(bucket);
    if (waitSeconds > 0) return { waitSeconds, slow: false, isKnown, taken };
  }
  const slow = device === null && (await take(accountBucket(email))) > 0;
  return { waitSeconds: 0, slow, isKnown, taken };
}

const SLOW_MS = 2000;
const MOST_WAITING = 100;
let waiting = 0;

/** Waits two seconds. While 100 attempts wait in this process, further ones do not wait: a slow sign-in is never refused. */
export async function slowDown(): Promise<void> {
  if (waiting >= MOST_WAITING) return;
  waiting += 1;
  try {
    await setTimeout(SLOW_MS);
  } finally {
    waiting -= 1;
  }
}
