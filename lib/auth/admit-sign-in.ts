import { setTimeout } from "node:timers/promises";
import type { Runner } from "@/lib/db";
import {
  accountBucket,
  addressBucket,
  deviceBucket,
  pairBucket,
  type ThrottleBucket,
  takeFromBucket,
} from "./throttle";

/** An attempt to sign in to an account. */
export interface SignInAttempt {
  /** In lower case and trimmed. */
  readonly email: string;
  readonly ip: string | null;
  /** The browser's id, if it signed in to this account before (`findDevice`). */
  readonly device: string | null;
}

export interface Admission {
  /** True if the browser signed in to the account before. */
  readonly isKnown: boolean;
  /** 0 if admitted, else the seconds until the next attempt may be admitted. */
  readonly waitSeconds: number;
  /**
   * True if the account had too many wrong passwords from all addresses together. Call `slowDown` before checking the
   * password.
   */
  readonly slow: boolean;
  /** Put these tokens back when the sign-in succeeds, so that only failures count. */
  readonly taken: readonly ThrottleBucket[];
}

/**
 * Takes the tokens of a sign-in. An attempt may be refused by its address, or by account and address together, so wrong
 * passwords from one address do not lock a user out elsewhere. A browser that signed in before has a bucket of its own,
 * so other clients neither lock it out nor slow it down. An attempt refused by its address takes no token of the
 * account.
 */
export async function admitSignIn(db: Runner, { email, ip, device }: SignInAttempt): Promise<Admission> {
  const taken: ThrottleBucket[] = [];
  const isKnown = device !== null;
  const take = async (bucket: ThrottleBucket): Promise<number> => {
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

/**
 * Waits two seconds. While 100 attempts wait in this process, further ones do not wait, because a slow sign-in is never
 * refused.
 */
export async function slowDown(): Promise<void> {
  if (waiting >= MOST_WAITING) return;
  waiting += 1;
  try {
    await setTimeout(SLOW_MS);
  } finally {
    waiting -= 1;
  }
}
