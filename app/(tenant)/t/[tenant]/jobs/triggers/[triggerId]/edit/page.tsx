import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { TriggerFormPage } from "@/components/triggers/form/trigger-form-page";
import { requirePage } from "@/lib/api/page";
import { triggerParams } from "@/lib/contract";
import { readTimezone } from "@/lib/tenancy/timezone";

export const metadata: Metadata = { title: "Edit trigger" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string; triggerId: string }> }) {
  const { tenant: tenantSlug, triggerId } = await params;
  const { db, scope } = await requirePage({ tenantSlug, permission: "triggers:read" });
  const parsed = triggerParams.safeParse({ triggerId });
  if (!parsed.success) notFound();
  const id = parsed.data.triggerId;
  return <TriggerFormPage key={id} mode="edit" tenantZone={await readTimezone(db, scope)} id={id} />;
}
