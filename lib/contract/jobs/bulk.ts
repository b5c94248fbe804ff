import * as z from "zod";
import { id, instant, jobStatus } from "../common";
import { LIMITS } from "../limits";
import { bulkJob } from "./jobs";

/** Body of POST /api/v1/jobs/bulk: all of its jobs are accepted, or none. */
export const createJobs = z.strictObject({ jobs: z.array(bulkJob).min(1).max(LIMITS.bulkJobsMax) });

/** The result of one item. For a taken dedupe key, this is the job that holds it. */
const acceptedJob = z.object({
  id,
  ref: z.string().nullable(),
  tenant_id: id,
  definition_key: z.string(),
  status: jobStatus,
  deduplicated: z.boolean(),
  queued_at: instant,
  scheduled_for: instant,
});

/** The items' jobs, in the items' order. */
export const acceptedJobs = z.object({ data: z.array(acceptedJob) });
