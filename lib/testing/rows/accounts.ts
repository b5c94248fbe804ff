import { randomBytes } from "node:crypto";
import { generateApiKey } from "@/lib/auth/api-key";
import { hashPassword } from "@/lib/auth/password";
import type { ApiKeyScope, TenantRole } from "@/lib/contract";
import type { TestDatabase } from "../database";

export interface TestTenant {
  readonly id: string;
  readonly slug: string;
}

export interface TestUser {
  readonly id: string;
  readonly email: string;
  readonly password: string;
}

export interface TestKey {
  readonly id: string;
  readonly key: string;
}

interface UserOptions {
  readonly superAdmin?: boolean;
  readonly disabled?: boolean;
  readonly roles?: Readonly<Record<string, TenantRole>>;
}

interface KeyOptions {
  readonly kind?: "tenant" | "super_admin" | "worker";
  readonly tenantId?: string;
  readonly scopes?: readonly (ApiKeyScope | string)[];
  /** For a worker's key; a nonexistent definition when omitted. */
  readonly definitions?: readonly string[];
  readonly queues?: readonly string[] | null;
  /** Seconds from the current time; negative for an expired key. */
  readonly expiresIn?: number;
}

const EVERY_TENANT_SCOPE = [
  "jobs:read",
  "jobs:write",
  "triggers:read",
  "triggers:write",
  "webhooks:read",
  "webhooks:write",
  "events:read",
  "events:write",
  "assets:read",
];

/** Creates tenants, users and keys, as the administrator of a test database. */
export function accountsIn(database: TestDatabase) {
  // One slow hash for all accounts, because hashing is tested elsewhere.
  const password = "correct horse battery";
  let hash: Promise<string> | undefined;

  const one = async <R extends object>(text: string, values: unknown[]): Promise<R> => {
    const [row] = await database.query(text, values);
    return row as R;
  };

  return {
    tenant: async (slug: string): Promise<TestTenant> =>
      one("insert into app.tenants (slug, name) values ($1, $2) returning id, slug", [slug, `The ${slug} company`]),

    user: async ({ superAdmin = false, disabled = false, roles = {} }: UserOptions = {}): Promise<TestUser> => {
      hash ??= hashPassword(password);
      const email = `${randomBytes(6).toString("hex")}@example.test`;
      const { id } = await one<{ id: string }>(
        `insert into app.users (email, password_hash, is_super_admin, disabled_at)
         values ($1, $2, $3, case when $4 then now() end) returning id`,
        [email, await hash, superAdmin, disabled],
      );
      for (const [tenantId, role] of Object.entries(roles)) {
        await database.query("insert into app.memberships (tenant_id, user_id, role) values ($1, $2, $3)", [
          tenantId,
          id,
          role,
        ]);
      }
      return { id, email, password };
    },

    key: async (creator: TestUser, options: KeyOptions = {}): Promise<TestKey> => {
      const { kind = "tenant", tenantId = null, scopes = EVERY_TENANT_SCOPE, expiresIn = 3600 } = options;
      const { definitions = ["none"], queues = null } = options;
      const claims = kind === "worker" ? [definitions, queues] : [null, null];
      const made = generateApiKey();
      const { id } = await one<{ id: string }>(
        `insert into app.api_keys (key_id, secret_hash, last4, kind, tenant_id, name, scopes, created_by, expires_at,
           worker_definitions, worker_queues)
         values ($1, $2, $3, $4, $5, 'test', $6, $7, now() + make_interval(secs => $8), $9, $10) returning id`,
        [made.keyId, made.secretHash, made.last4, kind, tenantId, scopes, creator.id, expiresIn, ...claims],
      );
      return { id, key: made.key };
    },
  };
}
