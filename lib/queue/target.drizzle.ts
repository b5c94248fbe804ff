import { eq, or, sql } from "drizzle-orm";
import { jobDefinitions, jobQueues, tenants } from "@/drizzle/schema";
import type { Runner } from "@/lib/db";
import { QueueError } from "./errors";

/** The target of a pause or a limit, by name. */
export interface NamedTarget {
  readonly queue?: string | undefined;
  readonly definition_key?: string | undefined;
  /** Id or slug. */
  readonly tenant?: string | undefined;
}

/** The ids of a target; null for what it does not name. */
export interface Target {
  readonly queue_id: number | null;
  readonly definition_id: string | null;
  readonly tenant_id: string | null;
}

/** Returns the ids of a named target. @throws QueueError invalid-value for an unknown name */
export async function findTarget({ orm }: Runner, { queue, definition_key, tenant }: NamedTarget): Promise<Target> {
  const { id: tenantId, slug } = tenants;
  return {
    queue_id:
      queue === undefined
        ? null
        : known("/queue", await orm.select({ id: jobQueues.id }).from(jobQueues).where(eq(jobQueues.name, queue))),
    definition_id:
      definition_key === undefined
        ? null
        : known(
            "/definition_key",
            await orm
              .select({ id: jobDefinitions.id })
              .from(jobDefinitions)
              .where(eq(jobDefinitions.key, definition_key)),
          ),
    tenant_id:
      tenant === undefined
        ? null
        : known(
            "/tenant",
            await orm
              .select({ id: tenantId })
              .from(tenants)
              .where(or(eq(slug, tenant), eq(sql`${tenantId}::text`, tenant))),
          ),
  };
}

function known<T>(pointer: string, [row]: readonly { readonly id: T }[]): T {
  if (row) return row.id;
  throw new QueueError("invalid-value", "Target not found.", {
    problems: [{ pointer, code: "unknown", detail: "does not exist" }],
  });
}
