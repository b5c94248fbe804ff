import * as z from "zod";
import { id, instant, queryInteger, slug } from "../common";

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
export const artifactList = z.object({
  data: z.array(artifact),
  /** What all artifacts of the tenant take of its quota, unfinished ones too. */
  tenant_usage: z.object({ bytes: z.int(), max_bytes: z.int() }),
});
export type ArtifactList = z.infer<typeof artifactList>;

export const artifactParams = z.strictObject({ jobId: id, artifactId: id });

/** Query of PUT /api/v1/worker/jobs/{jobId}/artifacts. */
export const uploadQuery = z.strictObject({
  lease_no: queryInteger(1, Number.MAX_SAFE_INTEGER),
  name: z.string().min(1).max(400),
  /** Counts from 0; part 0 begins the artifact anew. */
  part: queryInteger(0, 1_000_000).default(0),
  /** False while more parts follow. */
  last: z
    .enum(["true", "false"])
    .default("true")
    .transform((word) => word === "true"),
  /** Of the whole artifact, in hexadecimal, with the last part: what arrived is compared with it. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits")
    .optional(),
});

/** A link cannot send headers, so a download also takes the tenant (id or slug) here. */
export const artifactQuery = z.strictObject({ tenant: z.union([id, slug]).optional() });
