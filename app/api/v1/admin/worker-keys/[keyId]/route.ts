import { revokeKey } from "@/lib/api/resources/worker-keys";
import { platformRoute } from "@/lib/api/route";
import { workerKey, workerKeyParams } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const DELETE = platformRoute({
  permission: "platform:worker-keys:write",
  summary: "Revoke a worker key",
  params: workerKeyParams,
  response: workerKey,
  handler: revokeKey,
});
