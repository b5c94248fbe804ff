import type { Metadata } from "next";
import { QueuesPage } from "@/components/queues/queues-page";
import { requirePlatformPage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Queues" };

export default async function Page() {
  await requirePlatformPage("platform:queues:read");
  return <QueuesPage />;
}
