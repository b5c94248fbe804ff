import type * as z from "zod";
import { writeAudit } from "@/lib/auth/audit";
import type { createProvider, Provider } from "@/lib/contract";
import type { Runner, Transaction } from "@/lib/db";
import { checkProviderPath } from "@/lib/tenancy/provider-path";
import { insertProvider } from "@/lib/tenancy/providers";
import { HttpProblem } from "./problem";
import type { PlatformContext } from "./route";

type Context = PlatformContext<unknown, unknown, z.output<typeof createProvider>>;

/** Registers a folder for a tenant, after its real path was found inside PROVIDER_ROOTS; audited with the change. */
export async function registerProvider(context: Context): Promise<Provider> {
  const { body, runtime, db } = context;
  const checked = await checkProviderPath(body.path, runtime.config.providerRoots);
  if (!checked.ok) {
    throw new HttpProblem("provider-path-invalid", {
      errors: [{ pointer: "/path", code: "provider-path-invalid", detail: checked.detail }],
    });
  }
  return inTransaction(db, (tx) => insert(tx, context, checked.path));
}

async function insert(tx: Runner, { body, actor, info }: Context, path: string): Promise<Provider> {
  const { tenant, name, kind } = body;
  const made = await insertProvider(tx, { tenant, name, kind, path, createdBy: actor.userId });
  if (made === "name-taken") throw new HttpProblem("provider-exists");
  if (made === "no-tenant") {
    const errors = [{ pointer: "/tenant", code: "tenant-unknown", detail: "there is no such tenant" }];
    throw new HttpProblem("validation-failed", { errors });
  }
  await writeAudit(tx, {
    tenantId: made.tenant_id,
    actorKind: actor.kind,
    actorId: actor.id,
    action: "provider.created",
    severity: "medium",
    objectKind: "provider",
    objectId: made.id,
    success: true,
    detail: { name, path },
    requestId: info.id,
    ip: info.ip,
    userAgent: info.userAgent,
  });
  return made;
}

/** Runs in the transaction at hand, or in one of its own. */
export function inTransaction<T>(
  db: PlatformContext<unknown, unknown, unknown>["db"],
  fn: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return "inTransaction" in db ? fn(db) : db.transaction(fn);
}
