import { jobStream } from "@/web/live/stream";

export const dynamic = "force-dynamic";
export const GET = jobStream;
