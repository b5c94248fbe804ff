import { heartbeat } from "@/lib/api/remote/heartbeat";
import { workerRoute } from "@/lib/api/remote/route";
import { heartbeatAnswer, heartbeatBody, remoteJobParams } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const POST = workerRoute({
  summary: "Renew the lease of a remote attempt, with its progress and output",
  params: remoteJobParams,
  body: heartbeatBody,
  response: heartbeatAnswer,
  handler: heartbeat,
});
