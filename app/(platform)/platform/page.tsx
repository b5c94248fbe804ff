import { redirect } from "next/navigation";
import { requirePlatformPage } from "@/lib/api/page";

export default async function PlatformHome() {
  await requirePlatformPage("platform:workers:read");
  redirect("/platform/workers");
}
