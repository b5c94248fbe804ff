import { createHash } from "node:crypto";
import { LIMITS } from "@/lib/contract";
import { ADVISORY_LOCKS, type Runner, statement } from "@/lib/db";
import { canonicalParts } from "@/lib/queue";
import { Turns } from "@/lib/turns";
import { HttpProblem } from "./http/problem";

const KEPT_SECONDS = 24 * 3600;

/** An answer, as stored and replayed. */
export interface StoredAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Stored instead of the body when the body holds a secret. */
  readonly kept?: string;
}

/** A request with an Idempotency-Key. Keys belong to a principal, a tenant and a route. */
export interface IdempotentRequest {
  readonly key: string;
  /** The sender: a user, across all sessions, or one API key. */
  readonly principal: string;
  readonly tenantId: string | null;
  readonly route: string;
  readonly hash: Buffer;
}

/** Reads the header in its bare or quoted form. Returns null when absent; 400 when malformed. */
export function idempotencyKey(headers: Headers): string | null {
  const sent = headers.get("idempotency-key");
  if (sent === null) return null;
  const [, quoted] = /^"((?:[^"\\]|\\["\\])*)"$/.exec(sent) ?? [];
  const key = quoted === undefined ? sent : quoted.replace(/\\(["\\])/g, "$1");
  if (key.length < 1 || key.length > LIMITS.idempotencyKeyLength || !/^[\x20-\x7e]+$/.test(key)) {
    throw new HttpProblem("invalid-idempotency-key", {
      detail: `Send 1 to ${LIMITS.idempotencyKeyLength} printable ASCII characters.`,
    });
  }
  return key;
}

/** Returns the hash that identifies equal requests: method, path and the body's value. Long bodies are read in turns. */
export async function requestHash(method: string, path: string, body: unknown): Promise<Buffer> {
  const hash = createHash("sha256").update(`${method} ${path}\n`);
  const turns = new Turns();
  for (const part of canonicalParts(body)) {
    hash.update(part);
    await turns.next();
  }
  return hash.digest();
}

// Two statements, because the answer must be read by a statement that starts after the lock was taken.
const tryLock = statement(
  "api_idempotency_lock",
  `select pg_try_advisory_xact_lock(${ADVISORY_LOCKS.idempotentRequest}) as locked`,
);
const findAnswer = statement(
  "api_idempotency_find",
  `select request_hash, response_status, response_headers, response_body from app.idempotency_keys
   where tenant_id is not distinct from $1::uuid and principal = $2 and route = $3 and key = $4 and expires_at > app.now()`,
);
const dropExpired = statement(
  "api_idempotency_drop_expired",
  `delete from app.idempotency_keys
   where tenant_id is not distinct from $1::uuid and principal = $2 and route = $3 and key = $4 and expires_at <= app.now()`,
);
const storeAnswer = statement(
  "api_idempotency_store",
  `insert into app.idempotency_keys
     (tenant_id, principal, route, key, request_hash, response_status, response_headers, response_body, expires_at)
   values ($1::uuid, $2, $3, $4, $5, $6, $7::jsonb, $8, app.now() + make_interval(secs => $9))`,
);

interface AnswerRow extends Record<string, unknown> {
  request_hash: Buffer;
  response_status: number;
  response_headers: Record<string, string>;
  response_body: string;
}

const rowKeyOf = ({ tenantId, principal, route, key }: IdempotentRequest) => [tenantId, principal, route, key];

/**
 * Returns the stored answer to this request, or null.
 * @throws HttpProblem 422 for another request under the same key
 */
export async function storedAnswer(tx: Runner, request: IdempotentRequest): Promise<StoredAnswer | null> {
  const [stored] = await tx.run<AnswerRow>(findAnswer, rowKeyOf(request));
  if (!stored) return null;
  if (!stored.request_hash.equals(request.hash)) throw new HttpProblem("idempotency-mismatch");
  return { status: stored.response_status, headers: stored.response_headers, body: stored.response_body };
}

/** Differs between tenants and principals, so a client cannot aim at the lock of a key that it does not know. */
const lockNumberOf = (rowKey: readonly (string | null)[]): number =>
  createHash("sha256").update(JSON.stringify(rowKey)).digest().readInt32BE();

/**
 * Does the work of a request once. The work must use `tx`, so that key and effect commit or roll back together. A
 * repeat gets the stored answer, another body under the same key 422, a repeat while the first is in flight 409.
 * Failures are not stored, so the same key may retry.
 */
export async function answerOnce(
  tx: Runner,
  request: IdempotentRequest,
  work: () => Promise<StoredAnswer>,
): Promise<{ answer: StoredAnswer; replayed: boolean }> {
  const rowKey = rowKeyOf(request);
  const [lock] = await tx.run<{ locked: boolean }>(tryLock, [lockNumberOf(rowKey)]);
  if (!lock?.locked) throw new HttpProblem("idempotency-in-flight", { headers: { "retry-after": "1" } });
  const stored = await storedAnswer(tx, request);
  if (stored) return { answer: stored, replayed: true };
  const answer = await work();
  await tx.run(dropExpired, rowKey);
  await tx.run(storeAnswer, [
    ...rowKey,
    request.hash,
    answer.status,
    JSON.stringify(answer.headers),
    answer.kept ?? answer.body,
    KEPT_SECONDS,
  ]);
  return { answer, replayed: false };
}
