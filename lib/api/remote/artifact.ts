import { createHash } from "node:crypto";
import * as z from "zod";
import { type Artifact, artifact, LIMITS, remoteJobParams, uploadQuery } from "@/lib/contract";
import { inLine, runInLine } from "@/lib/db";
import { contentTypeOf, JobError, nameProblem } from "@/lib/execution";
import {
  appendArtifact,
  beginArtifact,
  discardArtifacts,
  findAttemptArtifact,
  findLeasedAttempt,
  finishArtifact,
  type Lease,
  notifyChanges,
  QueueError,
  LeaseLostError as QueueLeaseLost,
  readOwnChunk,
} from "@/lib/queue/remote";
import { parseParams, parseQuery, readBytes } from "../http/input";
import { HttpProblem } from "../http/problem";
import { answerText, jsonResponse } from "../http/respond";
import { guarded, type NextContext, type RouteHandler } from "../http/serve";
import type { ApiRuntime } from "../runtime";
import { authorizeWorker, holderOf, leaseLost } from "./route";

type Query = z.output<typeof uploadQuery>;

/** Longer than for other routes, because the whole artifact is read back for its hash. */
const ANSWER_WITHIN_MS = 60_000;

const answer = z.object({ artifact: artifact.nullable() });

/**
 * Takes an artifact in parts of at most 1 MiB, in order. The last part makes the artifact visible. Resending a part
 * changes nothing, so a worker may retry after a lost answer.
 */
export const uploadArtifact: RouteHandler = guarded(
  serve,
  {
    access: "worker",
    summary: "Upload an artifact of a remote attempt, whole or in parts of at most 1 MiB; safe to repeat",
    params: remoteJobParams,
    query: uploadQuery,
    body: z.string().meta({ format: "binary" }),
    bodyMediaType: "application/octet-stream",
    response: answer,
  },
  ANSWER_WITHIN_MS,
);

async function serve(request: Request, context: NextContext): Promise<Response> {
  const { runtime, info, key } = await authorizeWorker(request);
  const { jobId } = parseParams(remoteJobParams, (await context.params) ?? {});
  const query = parseQuery(uploadQuery, info.search);
  const problem = nameProblem(query.name);
  if (problem) throw invalid("/name", problem);
  const lease = { jobId, leaseNo: query.lease_no };
  const bytes = await runInLine(key.id, () => readBytes(request, LIMITS.bodyBytes));
  const own = { ...runtime, worker: inLine(runtime.worker, key.id) };
  const leased = await findLeasedAttempt(own.worker, holderOf(key), lease);
  if (!leased) throw leaseLost();
  try {
    const contentType = typeOf(query.name, request.headers.get("content-type"));
    const id = await store(own, lease, { query, bytes, contentType });
    const made = query.last ? await finish(own, lease, { id, query, isEmpty: bytes.length === 0 }) : null;
    if (made) notifyChanges(runtime.worker, [leased.job.laneNo]);
    return jsonResponse(await answerText(answer, { artifact: made }), 200, { "x-request-id": info.id });
  } catch (error) {
    throw error instanceof QueueLeaseLost ? leaseLost() : error;
  }
}

interface Part {
  readonly query: Query;
  readonly bytes: Uint8Array;
  readonly contentType: string;
}

/** Stores the part; returns the artifact's id. */
async function store(
  { worker, config }: ApiRuntime,
  lease: Lease,
  { query, bytes, contentType }: Part,
): Promise<string> {
  const known = query.part === 0 ? null : await findAttemptArtifact(worker, lease, query.name);
  if (query.part > 0 && !known) throw gone();
  const id = known?.id ?? (await beginArtifact(worker, lease, { name: query.name, contentType }));
  // When the last part is resent, the artifact is already complete.
  if (known?.artifact || bytes.length === 0) return id;
  const chunk = { id, no: query.part, bytes, quota: config.artifactQuota };
  await appendArtifact(worker, lease, chunk).catch(async (error: unknown) => {
    // An artifact that cannot be completed must not use up the quota.
    if (error instanceof QueueError && error.code === "artifact-quota") await discardArtifacts(worker, lease, [id]);
    throw error;
  });
  return id;
}

async function finish(
  { worker }: ApiRuntime,
  lease: Lease,
  { id, query, isEmpty }: { readonly id: string; readonly query: Query; readonly isEmpty: boolean },
): Promise<Artifact> {
  const known = await findAttemptArtifact(worker, lease, query.name);
  // Fewer chunks than parts: a part in between is missing or was empty.
  if (known?.id !== id || known.chunks !== query.part + (isEmpty ? 0 : 1)) throw gone();
  const hash = createHash("sha256");
  for (let no = 0; no < known.chunks; no += 1) {
    const chunk = await readOwnChunk(worker, lease, { id, no });
    if (!chunk) throw gone();
    hash.update(chunk);
  }
  const sha256 = hash.digest();
  if (query.sha256 !== undefined && query.sha256 !== sha256.toString("hex")) {
    throw invalid("/sha256", "is not the SHA-256 of the bytes that arrived: upload them again");
  }
  await finishArtifact(worker, lease, { id, size: known.size, sha256 });
  const made = await findAttemptArtifact(worker, lease, query.name);
  if (!made?.artifact) throw gone();
  return made.artifact;
}

function typeOf(name: string, header: string | null): string {
  try {
    // curl's default for every body.
    const isSaid = header !== null && header !== "application/x-www-form-urlencoded";
    return contentTypeOf(name, isSaid ? header : undefined);
  } catch (error) {
    if (!(error instanceof JobError)) throw error;
    throw new HttpProblem("unsupported-media-type", { detail: "The Content-Type is not valid." });
  }
}

const gone = (): HttpProblem => new HttpProblem("artifact-gone");

const invalid = (pointer: string, detail: string): HttpProblem =>
  new HttpProblem("validation-failed", { errors: [{ pointer, code: "invalid", detail }] });
