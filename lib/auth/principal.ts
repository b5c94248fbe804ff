/*
 * Sign-in and authentication: passwords, sessions, API keys, sign-in limits, and the security audit. `getPrincipal`
 * reads the rights from the database for every request, so a revoked session, key or role is refused from the next
 * request on. Passwords, session ids and key secrets are stored only as hashes.
 *
 * Start with `getPrincipal` below, then `login.ts`, `session.ts` and `admit-sign-in.ts` (sign-in limits). What a
 * principal may do is in lib/tenancy.
 */

import * as z from "zod";
import { API_KEY_SCOPES, type ApiKeyScope, id, tenantRole, tenantStatus } from "@/lib/contract";
import { BACKGROUND_HEADER } from "@/lib/contract/background";
import type { Runner } from "@/lib/db";
import { parseApiKey, secretMatches } from "./api-key";
import { cookieNames, cookieValues } from "./cookies";
import { findApiKey, findSession, markKeyUsed } from "./principal-sql";
import { SESSION_IDLE_SECONDS, sentSessionId, sessionHash } from "./session";

const tenantName = z.object({ id, slug: z.string(), name: z.string(), status: tenantStatus });
const membership = tenantName.extend({ role: tenantRole });
const user = z.object({
  id,
  email: z.string(),
  displayName: z.string(),
  isSuperAdmin: z.boolean(),
  mustChangePassword: z.boolean(),
});

const principal = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("user"), user, memberships: z.array(membership) }),
  z.object({
    kind: z.literal("api_key"),
    /** The creator of the key. A key never has more rights than its creator has at present. */
    user,
    memberships: z.array(membership),
    key: z.object({
      id,
      name: z.string(),
      kind: z.enum(["tenant", "super_admin", "worker"]),
      scopes: z.array(z.enum(API_KEY_SCOPES)),
      tenant: tenantName.nullable(),
      /** Claims of a worker's key: the definitions and queues it may claim from; null queues means any. */
      claims: z.object({ definitions: z.array(z.string()), queues: z.array(z.string()).nullable() }).nullable(),
    }),
  }),
]);

/** The sender of a request, with its rights at this moment. */
export type Principal = z.infer<typeof principal>;
export type TenantName = z.infer<typeof tenantName>;
export type Membership = z.infer<typeof membership>;

/** Thrown when a request has both a session cookie and an Authorization header. */
export class AmbiguousCredentials extends Error {}

interface AuthDependencies {
  /** The pool of the auth role. */
  readonly db: Runner;
  /** Our public origin, which determines the names of the cookies. */
  readonly origin: string;
}

/**
 * Authenticates a request; no other code does. Accepts either a session cookie or `Authorization: Bearer <key>`.
 * Returns null when the request is unauthenticated: no credentials, or credentials that are no longer valid. Runs one
 * statement per request, so a revocation takes effect with the next request.
 * @throws AmbiguousCredentials when both are sent
 */
export async function getPrincipal(
  headers: Headers,
  dependencies: AuthDependencies,
  ip: string | null = null,
): Promise<Principal | null> {
  const cookies = cookieValues(headers.get("cookie"), cookieNames(dependencies.origin).session);
  const authorization = headers.get("authorization");
  if (authorization !== null && cookies.length > 0) throw new AmbiguousCredentials();
  if (authorization !== null) return fromApiKey(authorization, dependencies.db, ip);
  const sessionId = sentSessionId(headers.get("cookie"), dependencies.origin);
  return sessionId === null ? null : fromSession(sessionId, dependencies.db, !headers.has(BACKGROUND_HEADER));
}

interface UserRow extends Record<string, unknown> {
  user_id: string;
  email: string;
  display_name: string;
  is_super_admin: boolean;
  must_change_password: boolean;
  memberships: unknown;
}

interface KeyRow extends UserRow {
  key_uuid: string;
  secret_hash: Buffer;
  name: string;
  kind: string;
  scopes: string[];
  key_tenant: unknown;
  worker_definitions: string[] | null;
  worker_queues: string[] | null;
  use_is_old: boolean;
}

async function fromSession(sessionId: string, db: Runner, isUse: boolean): Promise<Principal | null> {
  const [row] = await db.run<UserRow>(findSession, [sessionHash(sessionId), SESSION_IDLE_SECONDS, isUse]);
  return row ? principal.parse({ kind: "user", user: userOf(row), memberships: row.memberships }) : null;
}

async function fromApiKey(authorization: string, db: Runner, ip: string | null): Promise<Principal | null> {
  const [, text = ""] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
  const given = parseApiKey(text);
  if (!given) return null;
  const [row] = await db.run<KeyRow>(findApiKey, [given.keyId]);
  if (!secretMatches(given.secretHash, row?.secret_hash ?? null) || !row) return null;
  if (row.use_is_old) void db.run(markKeyUsed, [row.key_uuid, ip]).catch(() => undefined);
  const key = {
    id: row.key_uuid,
    name: row.name,
    kind: row.kind,
    scopes: knownScopes(row.scopes),
    tenant: row.key_tenant,
    claims: row.worker_definitions && { definitions: row.worker_definitions, queues: row.worker_queues },
  };
  return principal.parse({ kind: "api_key", user: userOf(row), memberships: row.memberships, key });
}

function userOf(row: UserRow) {
  return {
    id: row.user_id,
    email: row.email,
    displayName: row.display_name,
    isSuperAdmin: row.is_super_admin,
    mustChangePassword: row.must_change_password,
  };
}

// A scope of a later version grants nothing here.
function knownScopes(scopes: string[]): ApiKeyScope[] {
  return API_KEY_SCOPES.filter((scope) => scopes.includes(scope));
}
