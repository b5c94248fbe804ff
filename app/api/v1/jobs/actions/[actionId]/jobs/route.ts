import { notFound } from "@/lib/api/http/problem";
import { resultsRequest, serializeResults } from "@/lib/api/resources/job-actions";
import { tenantRoute } from "@/lib/api/route";
import { jobActionParams, jobActionResults, jobActionResultsQuery } from "@/lib/contract";
import { listBulkResults } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List what became of each job of an act",
  params: jobActionParams,
  query: jobActionResultsQuery,
  response: jobActionResults,
  handler: async ({ db, scope, params, query }) => {
    const page = await listBulkResults(db, scope, params.actionId, resultsRequest(query));
    if (!page) throw notFound();
    return serializeResults(page);
  },
});
