import type { Metadata } from "next";
import { DeadLettersPage } from "@/components/dead-letters/dead-letters-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Dead letters" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "jobs:read" });
  return <DeadLettersPage />;
}
