import type { Metadata } from "next";
import { WorkersPage } from "@/components/workers/workers-page";
import { requirePlatformPage } from "@/lib/api/page";

export const metadata: Metadata = { title: "Workers" };

export default async function Page() {
  await requirePlatformPage("platform:workers:read");
  return <WorkersPage />;
}
