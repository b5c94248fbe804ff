import type { Metadata } from "next";
import { ActionsPage } from "@/components/actions/actions-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Bulk actions" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "jobs:read" });
  return <ActionsPage />;
}
