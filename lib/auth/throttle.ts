import { createHash } from "node:crypto";
import { type Runner, statement } from "@/lib/db";

/** A token bucket: `burst` at once, then one every `secondsPerToken`. */
export interface BucketRule {
  readonly burst: number;
  readonly secondsPerToken: number;
}

export const LOGIN_ACCOUNT: BucketRule = { burst: 10, secondsPerToken: 30 };
export const LOGIN_ADDRESS: BucketRule = { burst: 50, secondsPerToken: 2 };

// One row, one statement: the row lock of the upsert is what makes two callers take two tokens.
const takeToken = statement(
  "auth_take_token",
  `insert into app.request_buckets as b (key, tokens, refilled_at) values ($1, $2::float8 - 1, app.now())
   on conflict (key) do update set
     tokens = least($2::float8, b.tokens + extract(epoch from app.now() - b.refilled_at)::float8 / $3::float8) - 1,
     refilled_at = app.now()
   where least($2::float8, b.tokens + extract(epoch from app.now() - b.refilled_at)::float8 / $3::float8) >= 1
   returning tokens`,
);

const giveBack = statement(
  "auth_give_back_token",
  "update app.request_buckets set tokens = least($2::float8, tokens + 1) where key = $1",
);

/** Takes one token; answers 0, or the seconds to wait when there is none. */
export async function takeFromBucket(db: Runner, key: string, rule: BucketRule): Promise<number> {
  const rows = await db.run(takeToken, [key, rule.burst, rule.secondsPerToken]);
  return rows.length === 1 ? 0 : rule.secondsPerToken;
}

/** Returns a token that was taken for something that turned out well. */
export async function returnToBucket(db: Runner, key: string, rule: BucketRule): Promise<void> {
  await db.run(giveBack, [key, rule.burst]);
}

export function addressBucket(ip: string | null): string {
  return `login:ip:${ip ?? "unknown"}`;
}

/** Hashed, so that the table holds no list of who tried to sign in. */
export function accountBucket(email: string): string {
  return `login:account:${createHash("sha256").update(email).digest("base64url")}`;
}
