import { ChevronRight } from "lucide-react";
import type { Metadata } from "next";
import { SignOutButton } from "@/components/auth/sign-out-button";
import { ROLE_NAMES } from "@/components/shell/role-names";
import { Plain } from "@/components/ui/plain";
import { requireViewer } from "@/lib/api/page";

export const metadata: Metadata = { title: "Choose a tenant" };

export default async function SelectTenantPage() {
  const viewer = await requireViewer("/select-tenant");
  return (
    <section className="panel overflow-hidden">
      <h1 className="px-6 pt-5 font-semibold text-xl tracking-tight">Choose a tenant</h1>
      <p className="px-6 pt-1 pb-4 text-muted text-sm">Signed in as {viewer.principal.user.email}</p>
      {viewer.tenants.length === 0 ? (
        <p className="border-line border-t px-6 py-5 text-muted text-sm">
          You are not a member of a tenant yet. Ask an admin to add you.
        </p>
      ) : (
        <ul className="divide-y divide-line border-line border-t">
          {viewer.tenants.map(({ tenant, role }) => (
            <li key={tenant.id}>
              <a href={`/t/${tenant.slug}/jobs`} className="flex min-h-12 items-center gap-3 px-6 py-2 hover:bg-hover">
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-medium text-sm">
                    <Plain text={tenant.name} />
                  </span>
                  <span className="block text-muted text-xs">{ROLE_NAMES[role]}</span>
                </span>
                <ChevronRight aria-hidden className="size-4 text-muted" />
              </a>
            </li>
          ))}
        </ul>
      )}
      <div className="border-line border-t bg-sunken px-6 py-3">
        <SignOutButton />
      </div>
    </section>
  );
}
