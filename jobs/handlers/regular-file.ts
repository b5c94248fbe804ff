import { constants, type FileHandle, open } from "node:fs/promises";
import { JobError, pathError } from "@/lib/execution";

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens a file for reading; neither follows a link nor waits for a pipe that took its place since its path was checked.
 * @throws JobError that says what is wrong, without the path
 */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const file = await open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    throw pathError(error, "the file");
  });
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new JobError("the path is not a file", { errorType: "invalid_input" });
}

const CHUNK_BYTES = 256 * 1024;

/**
 * Yields the bytes of a file that lies still.
 * @throws JobError (tried again) at the end, when the file was written to meanwhile: what was read may be no state of it
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
