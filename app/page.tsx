import { redirect } from "next/navigation";
import { requireSignIn } from "./_lib/viewer";

/** Leads to where this person works: the platform, the only tenant, or a choice of tenants. */
export default async function Home() {
  const viewer = await requireSignIn("/");
  const [first, second] = viewer.tenants;
  if (viewer.principal.user.isSuperAdmin && !first) redirect("/platform/workers");
  if (first && (!second || viewer.principal.user.isSuperAdmin)) redirect(`/t/${first.tenant.slug}/jobs`);
  redirect("/select-tenant");
}
