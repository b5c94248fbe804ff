import { tzVersions } from "@/lib/api/resources/jobs";
import { platformRoute } from "@/lib/api/route";
import { WORKER_THRESHOLDS, workerList } from "@/lib/contract";
import { TZ_VERSION } from "@/lib/process";
import { listTzVersions, listWorkers } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = platformRoute({
  permission: "platform:workers:read",
  summary: "List workers with the age of their last heartbeat",
  response: workerList,
  handler: async ({ db }) => {
    const workers = await listWorkers(db);
    return {
      data: workers,
      thresholds: WORKER_THRESHOLDS,
      tz_versions: tzVersions(await listTzVersions(db), TZ_VERSION),
      as_of: new Date().toISOString(),
    };
  },
});
