import { createHash } from "node:crypto";
import { type Runner, statement } from "@/lib/db";
import { addressGroup } from "./address-group";

/** A token bucket: `burst` at once, then one every `secondsPerToken`. */
export interface BucketRule {
  readonly burst: number;
  readonly secondsPerToken: number;
}

/** One bucket of the table. */
export interface ThrottleBucket {
  readonly key: string;
  readonly rule: BucketRule;
}

/** Wrong passwords for one account from one address, or from one browser that signed in before. */
export const LOGIN_PAIR: BucketRule = { burst: 10, secondsPerToken: 30 };
/** Wrong passwords from one address, for all accounts together. */
export const LOGIN_ADDRESS: BucketRule = { burst: 50, secondsPerToken: 2 };
/** Wrong passwords for one account from all addresses. Without a token a sign-in is slowed down, never refused. */
export const LOGIN_ACCOUNT: BucketRule = { burst: 20, secondsPerToken: 30 };

// A bucket with an instant in the future is full: the clock was set back, and sign-ins would be refused until it catches
// up. A minute is more than a concurrent caller can be ahead.
const REFILLED = `least($2::float8, case when b.refilled_at > app.now() + interval '1 minute' then $2::float8
    else b.tokens + greatest(0, extract(epoch from app.now() - b.refilled_at)::float8) / $3::float8 end)`;

// One statement, because the row lock of the upsert makes two callers take two tokens. Each call also deletes a few
// buckets unused for ten minutes: every rule refills within that time, and a full bucket equals no bucket.
const takeToken = statement(
  "auth_take_token",
  `with full_again as (
     delete from app.request_buckets where key = any (array(
       select key from app.request_buckets where refilled_at < app.now() - interval '10 minutes' and key <> $1
       order by refilled_at limit 10 for update skip locked)))
   insert into app.request_buckets as b (key, tokens, refilled_at) values ($1, $2::float8 - 1, app.now())
   on conflict (key) do update set
     tokens = ${REFILLED} - 1,
     refilled_at = app.now()
   where ${REFILLED} >= 1
   returning tokens`,
);

const giveBack = statement(
  "auth_give_back_token",
  "update app.request_buckets set tokens = least($2::float8, tokens + 1) where key = $1",
);

/** Takes a token. Returns 0, or the seconds to wait if there is none. */
export async function takeFromBucket(db: Runner, { key, rule }: ThrottleBucket): Promise<number> {
  const rows = await db.run(takeToken, [key, rule.burst, rule.secondsPerToken]);
  return rows.length === 1 ? 0 : rule.secondsPerToken;
}

/** Puts back tokens that were taken for an attempt that succeeded. */
export async function returnToBuckets(db: Runner, buckets: readonly ThrottleBucket[]): Promise<void> {
  for (const { key, rule } of buckets) await db.run(giveBack, [key, rule.burst]);
}

export function addressBucket(ip: string | null): ThrottleBucket {
  return { key: `login:ip:${addressGroup(ip)}`, rule: LOGIN_ADDRESS };
}

export function pairBucket(email: string, ip: string | null): ThrottleBucket {
  return { key: `login:pair:${hashed(email)}:${addressGroup(ip)}`, rule: LOGIN_PAIR };
}

/** The bucket of a browser that signed in to the account before; see `findDevice`. */
export function deviceBucket(device: string): ThrottleBucket {
  return { key: `login:device:${device}`, rule: LOGIN_PAIR };
}

export function accountBucket(email: string): ThrottleBucket {
  return { key: `login:account:${hashed(email)}`, rule: LOGIN_ACCOUNT };
}

/** For wrong current passwords of a signed-in user. Only requests with one of the user's sessions take from it. */
export function passwordBucket(userId: string): ThrottleBucket {
  return { key: `password:${userId}`, rule: LOGIN_PAIR };
}

// Hashed, so that the table does not list the accounts that sign-ins were tried for.
function hashed(email: string): string {
  return createHash("sha256").update(email).digest("base64url");
}
