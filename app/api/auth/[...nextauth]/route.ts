import { authRoute } from "@/lib/api/auth-route";

export const dynamic = "force-dynamic";
export const GET = authRoute;
export const POST = authRoute;
