import type { Metadata } from "next";
import { JobsPage } from "@/components/jobs/jobs-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Jobs" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "jobs:read" });
  return <JobsPage />;
}
