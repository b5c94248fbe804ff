import { livez } from "@/lib/api/health";

export const dynamic = "force-dynamic";
export const GET = livez;
