import * as z from "zod";
import { artifactParams, artifactQuery } from "@/lib/contract";
import { inLine } from "@/lib/db";
import { getArtifact, readArtifactChunk } from "@/lib/queue";
import type { Artifact } from "@/lib/queue/types";
import { authorizeReader, type Reader, watchAccess } from "@/web/live/watch-access";
import { parseParams, parseQuery } from "../http/input";
import { notFound } from "../http/problem";
import { FILE_LENGTH_HEADER } from "../http/request-info";
import { guarded, type NextContext, type RouteHandler } from "../http/serve";
import { getRuntime } from "../runtime";

/** Types that describe a file and that no browser executes. All others are sent as bytes. */
const HARMLESS =
  /^(?:text\/(?:plain|csv)(?:; ?charset=utf-8)?|application\/(?:json|pdf|zip|gzip|x-ndjson)|image\/(?:png|jpeg|gif|webp))$/;

const tenantOf = (search: string) => parseQuery(artifactQuery, search).tenant;

/**
 * Sends the bytes of an artifact as an attachment. Each chunk is read in its own transaction once the client has taken
 * the previous one, so a slow client holds one chunk of memory and no database connection.
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
  const reader = await authorizeReader(request, tenantOf);
  const params = parseParams(artifactParams, (await context.params) ?? {});
  const scope = { tenantId: reader.tenantId };
  const db = inLine(getRuntime().web, reader.tenantId);
  const artifact = await getArtifact(db, scope, params);
  if (!artifact) throw notFound();
  const headers = { ...headersOf(artifact), "x-request-id": reader.info.id };
  if (isKnown(request.headers.get("if-none-match"), artifact)) return new Response(null, { status: 304, headers });
  const length = { [FILE_LENGTH_HEADER]: String(artifact.size), "content-type": shownType(artifact) };
  if (request.method === "HEAD" || request.signal.aborted)
    return new Response(null, { headers: { ...headers, ...length } });
  const body = streamOf(artifact.chunks, {
    read: (no) => readArtifactChunk(db, scope, artifact.id, no),
    watch: (end) => watchDownload(request, reader, end),
  });
  return new Response(body, { headers: { ...headers, ...length } });
}

function headersOf({ name, sha256 }: Artifact): Record<string, string> {
  return {
    etag: `"${sha256}"`,
    // no-transform, because a proxy that compressed the file would change its length.
    "cache-control": "private, no-cache, no-transform",
    "content-disposition": dispositionOf(name),
  };
}

const shownType = ({ content_type: contentType }: Artifact): string =>
  HARMLESS.test(contentType) ? contentType : "application/octet-stream";

/** Returns the file name for old clients and, exactly, for clients that support RFC 5987. */
export function dispositionOf(name: string): string {
  const file = name.split("/").at(-1) ?? name;
  const plain = file.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(file).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

function isKnown(ifNoneMatch: string | null, { sha256 }: Artifact): boolean {
  if (ifNoneMatch === null) return false;
  return (
    ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((tag) => tag.trim().replace(/^W\//, "") === `"${sha256}"`)
  );
}

interface Chunks {
  read(no: number): Promise<Buffer | null>;
  /** Calls `end` when the client disconnects or may no longer read. Returns the function that stops watching. */
  watch(end: () => void): () => void;
}

/** Fails mid-stream when a chunk or the permission is gone; the client sees that the length does not match. */
function streamOf(chunks: number, { read, watch }: Chunks): ReadableStream<Uint8Array> {
  let no = 0;
  let leave = () => {};
  const source: UnderlyingDefaultSource<Uint8Array> = {
    start(controller) {
      leave = watch(() => {
        leave();
        // With this name, the framework takes the error for a client disconnect and does not log it.
        controller.error(new DOMException("the download was ended", "AbortError"));
      });
    },
    async pull(controller) {
      try {
        if (no >= chunks) {
          leave();
          return controller.close();
        }
        const bytes = await read(no);
        if (!bytes) throw new Error("the artifact was deleted");
        no += 1;
        controller.enqueue(bytes);
      } catch (error) {
        leave();
        controller.error(error);
      }
    },
    cancel: () => leave(),
  };
  return new ReadableStream(source, { highWaterMark: 0 });
}

/** Ends a download when the client disconnects or loses its permission. */
function watchDownload(request: Request, reader: Reader, end: () => void): () => void {
  const stopWatching = watchAccess(request, reader, { tenantOf, end });
  request.signal.addEventListener("abort", end, { once: true });
  return () => {
    stopWatching();
    request.signal.removeEventListener("abort", end);
  };
}
