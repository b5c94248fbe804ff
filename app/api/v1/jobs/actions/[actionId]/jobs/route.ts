import { notFound } from "@/lib/api/http/problem";
import { resultsPage, resultsRequest } from "@/lib/api/resources/job-actions";
import { tenantRoute } from "@/lib/api/route";
import { jobActionParams, jobActionResults, jobActionResultsQuery } from "@/lib/contract";
import { listBulkResults } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the results of an action, one for each job",
  params: jobActionParams,
  query: jobActionResultsQuery,
  response: jobActionResults,
  handler: async ({ db, scope, params, query }) => {
    const page = await listBulkResults(db, scope, params.actionId, resultsRequest(query));
    if (!page) throw notFound();
    return resultsPage(page);
  },
});
