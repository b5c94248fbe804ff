import type { Metadata } from "next";
import { WorkersPage } from "@/components/workers/workers-page";
import { requirePlatformPage } from "@/lib/api/page";
import { getRuntime } from "@/lib/api/runtime";

export const metadata: Metadata = { title: "Workers" };

export default async function Page() {
  await requirePlatformPage("platform:workers:read");
  const { loopback, allowHttp } = getRuntime().config.webhooks;
  return <WorkersPage webhookExceptions={[...loopback, ...(allowHttp ? ["http to public addresses"] : [])]} />;
}
