import { fail } from "@/lib/api/remote/end";
import { workerRoute } from "@/lib/api/remote/route";
import { failWork, remoteJobParams, settledWork } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const POST = workerRoute({
  summary: "Record that a remote attempt failed, was stopped, or is released; safe to repeat",
  params: remoteJobParams,
  body: failWork,
  response: settledWork,
  handler: fail,
});
