import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { EndpointDetail } from "@/components/webhooks/endpoint-detail";
import { requirePage } from "@/lib/api/page";
import { webhookParams } from "@/lib/contract";

export const metadata: Metadata = { title: "Webhook" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string; id: string }> }) {
  const { tenant: tenantSlug, id } = await params;
  await requirePage({ tenantSlug, permission: "webhooks:read" });
  const parsed = webhookParams.safeParse({ endpointId: id });
  if (!parsed.success) notFound();
  return <EndpointDetail key={parsed.data.endpointId} id={parsed.data.endpointId} />;
}
