import * as z from "zod";
import { artifactParams, artifactQuery } from "@/lib/contract";
import { getArtifact, readArtifactChunk } from "@/lib/queue";
import type { ArtifactView } from "@/lib/queue/types";
import { requireTenant } from "./authorize";
import { parseParams, parseQuery } from "./input";
import { notFound } from "./problem";
import { FILE_LENGTH_HEADER } from "./request-info";
import { identify } from "./route";
import { guarded, type NextContext, type RouteHandler } from "./serve";

/** Types that say what a file is and that no browser runs; all others are sent as bytes. */
const HARMLESS =
  /^(?:text\/(?:plain|csv)(?:; ?charset=utf-8)?|application\/(?:json|pdf|zip|gzip|x-ndjson)|image\/(?:png|jpeg|gif|webp))$/;

/**
 * Sends the bytes of an artifact as an attachment. Each chunk is read in a transaction of its own when the client has
 * taken the one before, so a slow client holds one chunk of memory and no database connection.
 */
export const downloadArtifact: RouteHandler = guarded(serve, {
  access: "jobs:read",
  summary: "Download an artifact of a job",
  params: artifactParams,
  query: artifactQuery,
  response: z.string().meta({ format: "binary" }),
  mediaType: "application/octet-stream",
});

async function serve(request: Request, context: NextContext): Promise<Response> {
  const { runtime, principal, info } = await identify(request);
  const params = parseParams(artifactParams, (await context.params) ?? {});
  const query = parseQuery(artifactQuery, info.search);
  const named = request.headers.get("x-tenant-id") ?? query.tenant ?? null;
  const place = await requireTenant(runtime, { principal, info, named }, ["jobs:read"]);
  const scope = { tenantId: place.tenant.id };
  const artifact = await getArtifact(runtime.web, scope, params);
  if (!artifact) throw notFound();
  const headers = { ...headersOf(artifact), "x-request-id": info.id };
  if (isKnown(request.headers.get("if-none-match"), artifact)) return new Response(null, { status: 304, headers });
  const length = { [FILE_LENGTH_HEADER]: String(artifact.size), "content-type": shownType(artifact) };
  const body =
    request.method === "HEAD"
      ? null
      : streamOf(artifact.chunks, (no) => readArtifactChunk(runtime.web, scope, artifact.id, no));
  return new Response(body, { headers: { ...headers, ...length } });
}

function headersOf({ name, sha256 }: ArtifactView): Record<string, string> {
  return {
    etag: `"${sha256}"`,
    // A proxy that compressed it would change its length.
    "cache-control": "private, no-cache, no-transform",
    "content-disposition": dispositionOf(name),
  };
}

const shownType = ({ contentType }: ArtifactView): string =>
  HARMLESS.test(contentType) ? contentType : "application/octet-stream";

/** The file's name for old clients and, exactly, for those that know RFC 5987. */
export function dispositionOf(name: string): string {
  const file = name.split("/").at(-1) ?? name;
  const plain = file.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(file).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

function isKnown(ifNoneMatch: string | null, { sha256 }: ArtifactView): boolean {
  if (ifNoneMatch === null) return false;
  return (
    ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${sha256}"`)
  );
}

/** Fails in the middle when a chunk is gone: the client sees that the length does not fit. */
function streamOf(chunks: number, read: (no: number) => Promise<Buffer | null>): ReadableStream<Uint8Array> {
  let no = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (no >= chunks) return controller.close();
        const bytes = await read(no);
        if (!bytes) return controller.error(new Error("the artifact was deleted"));
        no += 1;
        controller.enqueue(bytes);
      },
    },
    { highWaterMark: 0 },
  );
}
