import { signedInRoute } from "@/lib/api/route";
import { me } from "@/lib/contract";
import { platformPermissions } from "@/lib/tenancy/permissions";
import { enterableTenants } from "@/lib/tenancy/resolve";

export const dynamic = "force-dynamic";

export const GET = signedInRoute({
  summary: "Get the current user, tenants and permissions",
  response: me,
  handler: async ({ principal, runtime }) => {
    const { id, email, displayName, isSuperAdmin, mustChangePassword } = principal.user;
    const memberships = await enterableTenants(runtime.auth, principal);
    const key = principal.kind === "api_key" ? principal.key : null;
    return {
      kind: principal.kind,
      user: {
        id,
        email,
        display_name: displayName,
        is_super_admin: isSuperAdmin,
        must_change_password: mustChangePassword,
      },
      api_key: key && { id: key.id, name: key.name, scopes: key.scopes },
      tenants: memberships.map(({ tenant, role, permissions }) => ({ ...tenant, role, permissions: [...permissions] })),
      platform_permissions: platformPermissions(principal),
    };
  },
});
