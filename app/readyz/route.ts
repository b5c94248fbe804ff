import { readyz } from "@/lib/api/health";

export const dynamic = "force-dynamic";
export const GET = readyz;
