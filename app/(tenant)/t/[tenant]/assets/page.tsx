import type { Metadata } from "next";
import { AssetsPage } from "@/components/assets/assets-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Assets" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "assets:read" });
  return <AssetsPage />;
}
