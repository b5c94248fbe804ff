import type { Metadata } from "next";
import { TriggersPage } from "@/components/triggers/triggers-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Triggers" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "triggers:read" });
  return <TriggersPage />;
}
