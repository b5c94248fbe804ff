import * as z from "zod";
import type { Artifact } from "@/lib/queue/types";
import { id, instant, queryInteger, slug } from "../common";

export type { Artifact } from "@/lib/queue/types";

/** A file created by a job. */
export const artifact = z.object({
  id,
  job_id: id,
  run_no: z.int(),
  /** The attempt that created it. */
  attempt_no: z.int(),
  /** Unique within the job; may contain slashes, like a relative path. */
  name: z.string(),
  content_type: z.string(),
  /** Bytes. */
  size: z.int(),
  /** SHA-256 of the bytes as downloaded, in hexadecimal. */
  sha256: z.string(),
  created_at: instant,
}) satisfies z.ZodType<Artifact>;

/** All artifacts of a job, by name; a job has at most 100. */
export const artifactList = z.object({
  data: z.array(artifact),
  /** The share of the tenant's quota used by all its artifacts, including unfinished ones. */
  tenant_usage: z.object({ bytes: z.int(), max_bytes: z.int() }),
});
export type ArtifactList = z.infer<typeof artifactList>;

export const artifactParams = z.strictObject({ jobId: id, artifactId: id });

/** Query of PUT /api/v1/worker/jobs/{jobId}/artifacts. */
export const uploadQuery = z.strictObject({
  lease_no: queryInteger(1, Number.MAX_SAFE_INTEGER),
  name: z.string().min(1).max(400),
  /** Counts from 0; part 0 starts the artifact over. */
  part: queryInteger(0, 1_000_000).default(0),
  /** False while more parts follow. */
  last: z
    .enum(["true", "false"])
    .default("true")
    .transform((word) => word === "true"),
  /** SHA-256 of the whole artifact, in hexadecimal; sent with the last part and compared with the received bytes. */
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits")
    .optional(),
});

/** A link cannot send headers, so a download also takes the tenant (id or slug) as a parameter. */
export const artifactQuery = z.strictObject({ tenant: z.union([id, slug]).optional() });
