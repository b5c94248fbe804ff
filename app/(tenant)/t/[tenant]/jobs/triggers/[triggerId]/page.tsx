import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { TriggerDetail } from "@/components/triggers/trigger-detail";
import { requirePage } from "@/lib/api/page";
import { triggerParams } from "@/lib/contract";

export const metadata: Metadata = { title: "Trigger" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string; triggerId: string }> }) {
  const { tenant: tenantSlug, triggerId } = await params;
  await requirePage({ tenantSlug, permission: "triggers:read" });
  const parsed = triggerParams.safeParse({ triggerId });
  if (!parsed.success) notFound();
  return <TriggerDetail key={parsed.data.triggerId} id={parsed.data.triggerId} />;
}
