import type * as z from "zod";
import type { createProvider, Provider } from "@/lib/contract";
import type { Runner } from "@/lib/db";
import { checkProviderPath } from "@/lib/inventory/provider-path";
import { insertProvider } from "@/lib/inventory/providers";
import { announceEvent } from "@/lib/queue";
import { auditedChange } from "../audited";
import { HttpProblem } from "../http/problem";
import type { PlatformContext } from "../route";

type Context = PlatformContext<unknown, unknown, z.output<typeof createProvider>>;

/**
 * Registers a folder for a tenant, if its real path is inside PROVIDER_ROOTS. Writes the audit line and the event
 * `provider.connection.changed`, for the tenant's triggers, in the same transaction.
 */
export async function registerProvider(context: Context): Promise<Provider> {
  const { body, runtime } = context;
  const checked = await checkProviderPath(body.path, runtime.config.providerRoots);
  if (!checked.ok) throw invalid("provider-path-invalid", "/path", checked.detail);
  return auditedChange(
    context,
    (db) => insert(db, context, checked.path),
    ({ id, tenant_id, name, path }) => ({
      action: "provider.created",
      objectKind: "provider",
      objectId: id,
      tenantId: tenant_id,
      detail: { name, path },
    }),
  );
}

async function insert(db: Runner, { body, actor }: Context, path: string): Promise<Provider> {
  const { tenant, name, kind } = body;
  const made = await insertProvider(db, { tenant, name, kind, path, createdBy: actor.userId });
  if (made === "name-taken") throw new HttpProblem("provider-exists");
  if (made === "no-tenant") throw invalid("validation-failed", "/tenant", "is not a known tenant");
  const data = { provider_id: made.id, provider_name: made.name, kind: made.kind, change: "registered" };
  await announceEvent(db, { tenantId: made.tenant_id, actor }, { name: "provider.connection.changed", data });
  return made;
}

function invalid(code: "provider-path-invalid" | "validation-failed", pointer: string, detail: string): HttpProblem {
  return new HttpProblem(code, { errors: [{ pointer, code: pointer === "/path" ? code : "tenant-unknown", detail }] });
}
