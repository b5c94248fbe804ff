import { jobStream } from "@/lib/api/stream";

export const dynamic = "force-dynamic";
export const GET = jobStream;
