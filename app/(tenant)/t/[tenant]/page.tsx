import { redirect } from "next/navigation";
import { requirePage } from "@/lib/api/page";

export default async function TenantHome({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  const { tenant } = await requirePage({ tenantSlug, permission: "jobs:read" });
  redirect(`/t/${tenant.slug}/jobs`);
}
