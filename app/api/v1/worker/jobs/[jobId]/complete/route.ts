import { complete } from "@/lib/api/remote/end";
import { workerRoute } from "@/lib/api/remote/route";
import { completeWork, remoteJobParams, settledWork } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const POST = workerRoute({
  summary: "Record that a remote attempt succeeded; safe to repeat",
  params: remoteJobParams,
  body: completeWork,
  response: settledWork,
  handler: complete,
});
