import { logPosition } from "@/lib/api/filters";
import { notFound } from "@/lib/api/problem";
import { tenantRoute } from "@/lib/api/route";
import { serializeLogPage } from "@/lib/api/serialize";
import { jobParams, logPage, logQuery } from "@/lib/contract";
import { readLogs } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "Read the output of a job",
  params: jobParams,
  query: logQuery,
  response: logPage,
  handler: async ({ db, scope, params, query }) => {
    const page = await readLogs(db, scope, params.jobId, logPosition(query));
    if (!page) throw notFound();
    return serializeLogPage(page, query.after);
  },
});
