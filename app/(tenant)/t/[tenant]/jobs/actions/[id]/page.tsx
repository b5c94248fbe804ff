import type { Metadata } from "next";
import { notFound } from "next/navigation";
import { ActionDetail } from "@/components/actions/action-detail";
import { requirePage } from "@/lib/api/page";
import { jobActionParams } from "@/lib/contract";

export const metadata: Metadata = { title: "Bulk action" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string; id: string }> }) {
  const { tenant: tenantSlug, id } = await params;
  await requirePage({ tenantSlug, permission: "jobs:read" });
  const parsed = jobActionParams.safeParse({ actionId: id });
  if (!parsed.success) notFound();
  return <ActionDetail key={parsed.data.actionId} id={parsed.data.actionId} />;
}
