import type { Metadata } from "next";
import type { SearchParams } from "nuqs/server";
import { firstJobs } from "@/app/_lib/first-jobs";
import { JobsPage } from "@/components/jobs/list/jobs-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Jobs" };

interface PageProps {
  readonly params: Promise<{ tenant: string }>;
  readonly searchParams: Promise<SearchParams>;
}

export default async function Page({ params, searchParams }: PageProps) {
  const { tenant: tenantSlug } = await params;
  const page = await requirePage({ tenantSlug, permission: "jobs:read" });
  return <JobsPage first={await firstJobs(page, searchParams)} />;
}
