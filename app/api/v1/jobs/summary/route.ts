import { tenantRoute } from "@/lib/api/route";
import { jobSummary } from "@/lib/contract";
import { summarizeJobs } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "Count jobs by status; ended jobs of the last 24 hours",
  response: jobSummary,
  handler: async ({ db, scope }) => await summarizeJobs(db, scope),
});
