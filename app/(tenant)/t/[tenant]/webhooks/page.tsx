import type { Metadata } from "next";
import { WebhooksPage } from "@/components/webhooks/webhooks-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Webhooks" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "webhooks:read" });
  return <WebhooksPage />;
}
