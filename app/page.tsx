import { redirect } from "next/navigation";
import { requireViewer } from "@/lib/api/page";

/** Redirects to the user's start page: the platform, the only tenant, or a choice of tenants. */
export default async function Home() {
  const viewer = await requireViewer("/");
  const [first, second] = viewer.tenants;
  if (viewer.principal.user.isSuperAdmin && !first) redirect("/platform/workers");
  if (first && (!second || viewer.principal.user.isSuperAdmin)) redirect(`/t/${first.tenant.slug}/jobs`);
  redirect("/select-tenant");
}
