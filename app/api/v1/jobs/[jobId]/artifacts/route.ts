import { notFound } from "@/lib/api/http/problem";
import { tenantRoute } from "@/lib/api/route";
import { artifactList, jobParams } from "@/lib/contract";
import { listArtifacts, readArtifactUsage } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "List the artifacts of a job",
  params: jobParams,
  response: artifactList,
  handler: async ({ db, scope, params, runtime }) => {
    const artifacts = await listArtifacts(db, scope, params.jobId);
    if (!artifacts) throw notFound();
    const usage = { bytes: await readArtifactUsage(db, scope), max_bytes: runtime.config.artifactQuota.tenantBytes };
    return { data: artifacts, tenant_usage: usage };
  },
});
