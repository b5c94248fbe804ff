import type { Metadata } from "next";
import { createLoader, parseAsString, parseAsStringLiteral, type SearchParams } from "nuqs/server";
import { TriggerFormPage } from "@/components/triggers/form/trigger-form-page";
import { requirePage } from "@/lib/api/page";
import { triggerParams } from "@/lib/contract";
import { readTimezone } from "@/lib/tenancy/timezone";

export const metadata: Metadata = { title: "New trigger" };

const load = createLoader({
  from: parseAsString,
  template: parseAsStringLiteral(["nightly", "event"] as const),
});

interface PageProps {
  readonly params: Promise<{ tenant: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: PageProps) {
  const { tenant: tenantSlug } = await params;
  const { db, scope } = await requirePage({ tenantSlug, permission: "triggers:read" });
  const { from, template } = await load(searchParams);
  const origin = triggerParams.safeParse({ triggerId: from });
  return (
    <TriggerFormPage
      mode="new"
      tenantZone={await readTimezone(db, scope)}
      id={origin.success ? origin.data.triggerId : null}
      template={template}
    />
  );
}
