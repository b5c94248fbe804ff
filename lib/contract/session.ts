import * as z from "zod";
import { id, slug } from "./common";
import { LIMITS } from "./limits";
import { apiKeyScope, effectiveRole, platformPermission, tenantPermission, tenantStatus } from "./permissions";

export const tenantAccess = z.object({
  id,
  slug,
  name: z.string(),
  status: tenantStatus,
  role: effectiveRole,
  permissions: z.array(tenantPermission),
});
export type TenantAccess = z.infer<typeof tenantAccess>;

/** Answer of GET /api/v1/me. `tenants` are those that this principal may name; for a super admin, all of them. */
export const me = z.object({
  kind: z.enum(["user", "api_key"]),
  user: z.object({
    id,
    email: z.string(),
    display_name: z.string(),
    is_super_admin: z.boolean(),
    /** True after signing in with a one-time password; until it is changed, other requests are refused. */
    must_change_password: z.boolean(),
  }),
  api_key: z.object({ id, name: z.string(), scopes: z.array(apiKeyScope) }).nullable(),
  tenants: z.array(tenantAccess),
  platform_permissions: z.array(platformPermission),
});
export type Me = z.infer<typeof me>;

// Counted as the hash counts: characters, not UTF-16 units, in the normal form that is hashed.
const newPassword = z
  .string()
  .max(1024)
  .refine(
    (text) => {
      const { length } = [...text.normalize("NFKC")];
      return length >= LIMITS.passwordMin && length <= LIMITS.passwordMax;
    },
    { error: `must have ${LIMITS.passwordMin} to ${LIMITS.passwordMax} characters` },
  )
  .meta({ minLength: LIMITS.passwordMin, maxLength: LIMITS.passwordMax });

/** Body of POST /api/v1/me/password. */
export const passwordChange = z.strictObject({
  current_password: z.string().min(1).max(1024),
  new_password: newPassword,
});
export type PasswordChange = z.infer<typeof passwordChange>;

export const passwordChanged = z.object({ changed: z.literal(true) });

/** The e-mail address of an account as stored: in lower case and trimmed. */
export const accountEmail = z.string().trim().toLowerCase();

/** Fields of the login form. */
export const credentials = z.object({
  email: accountEmail.min(3).max(LIMITS.emailLength),
  password: z.string().min(1).max(1024),
});
export type Credentials = z.infer<typeof credentials>;
