import { notFound } from "@/lib/api/http/problem";
import { logPosition } from "@/lib/api/resources/filters";
import { shownOutput } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
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
    return shownOutput(page, query.after);
  },
});
