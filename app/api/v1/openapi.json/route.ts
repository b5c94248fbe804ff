import { guarded } from "@/lib/api/http/serve";
import { openApiDocument } from "@/lib/api/openapi";
import { DOCUMENTED_ROUTES } from "./documented-routes";

export const dynamic = "force-dynamic";

const PART_BYTES = 64 * 1024;

let parts: readonly Uint8Array[] | undefined;

export const GET = guarded(
  async () => {
    parts ??= inParts(Buffer.from(JSON.stringify(openApiDocument(DOCUMENTED_ROUTES, "1"))));
    return new Response(streamOf(parts), {
      headers: { "content-type": "application/json", "cache-control": "public, max-age=300" },
    });
  },
  { access: "open", summary: "This description of the API" },
);

function inParts(bytes: Uint8Array): readonly Uint8Array[] {
  const count = Math.ceil(bytes.length / PART_BYTES);
  return Array.from({ length: count }, (_, no) => bytes.subarray(no * PART_BYTES, (no + 1) * PART_BYTES));
}

/**
 * Streams bytes that all answers share, each part once the previous one is sent, so that an unread answer costs no
 * memory.
 */
function streamOf(bytes: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let no = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const part = bytes[no];
        no += 1;
        if (part) controller.enqueue(part);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
