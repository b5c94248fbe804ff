import * as z from "zod";
import { id, instant, slug } from "./common";

/** A file that a job made. */
export const artifact = z.object({
  id,
  job_id: id,
  run_no: z.int(),
  /** The attempt that made it. */
  attempt_no: z.int(),
  /** Unique within the job; may hold slashes, like a relative path. */
  name: z.string(),
  content_type: z.string(),
  /** Bytes. */
  size: z.int(),
  /** Of the bytes as they are downloaded, in hexadecimal. */
  sha256: z.string(),
  created_at: instant,
});
export type Artifact = z.infer<typeof artifact>;

/** All artifacts of a job by name: a job has at most 100. */
export const artifactList = z.object({ data: z.array(artifact) });

export const artifactParams = z.strictObject({ jobId: id, artifactId: id });

/** A link cannot send headers, so a download also takes the tenant (id or slug) here. */
export const artifactQuery = z.strictObject({ tenant: z.union([id, slug]).optional() });
