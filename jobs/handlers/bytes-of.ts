import type { FileHandle } from "node:fs/promises";
import { JobError } from "@/lib/execution";

const CHUNK_BYTES = 256 * 1024;

/**
 * Yields the bytes of a file that does not change.
 * @throws JobError (retryable) at the end, if the file was written to meanwhile: the bytes may mix two states of it
 */
export async function* bytesOf(file: FileHandle): AsyncGenerator<Buffer> {
  const before = await file.stat();
  let read = 0;
  for await (const chunk of file.createReadStream({ highWaterMark: CHUNK_BYTES, autoClose: false })) {
    read += (chunk as Buffer).length;
    yield chunk as Buffer;
  }
  const after = await file.stat();
  if (read === before.size && after.size === read && after.mtimeMs === before.mtimeMs) return;
  throw new JobError("the file was written to while it was read", { errorType: "temporary_resource" });
}
