import type { Metadata } from "next";
import { EventsPage } from "@/components/events/events-page";
import { requirePage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Events" };

export default async function Page({ params }: { readonly params: Promise<{ tenant: string }> }) {
  const { tenant: tenantSlug } = await params;
  await requirePage({ tenantSlug, permission: "events:read" });
  return <EventsPage />;
}
