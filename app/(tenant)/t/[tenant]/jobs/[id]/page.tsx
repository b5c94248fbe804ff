import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { JobDetail } from "@/components/jobs/detail/job-detail";
import { requirePage } from "@/lib/api/page";
import { jobParams } from "@/lib/contract";

export const metadata: Metadata = { title: "Job" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string; id: string }> }) {
  const { tenant: tenantSlug, id } = await params;
  await requirePage({ tenantSlug, permission: "jobs:read" });
  const parsed = jobParams.safeParse({ jobId: id });
  if (!parsed.success) notFound();
  return <JobDetail key={parsed.data.jobId} id={parsed.data.jobId} />;
}
