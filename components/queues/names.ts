import type { Limit, Pause } from "@/lib/contract";

type Target = Pick<Pause | Limit, "queue" | "definition_key" | "tenant"> & { readonly scope: string };

/** Describes the target of a pause or a limit. */
export function targetName({ scope, queue, definition_key, tenant }: Target): string {
  if (scope === "all") return "Everything";
  if (scope === "tenant") return `Tenant ${tenant}`;
  const subject = queue === null ? `Definition ${definition_key}` : `Queue ${queue}`;
  if (!scope.startsWith("tenant_")) return subject;
  return tenant === null ? `${subject}, each tenant` : `${subject}, tenant ${tenant}`;
}
