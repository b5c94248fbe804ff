import { constants, type FileHandle, open } from "node:fs/promises";
import { JobError } from "@/lib/execution";

/** Opens a file for reading; neither follows a link nor waits for a pipe that took its place since its path was checked. */
export async function openRegularFile(path: string): Promise<FileHandle> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new JobError("the path is not a file", { errorType: "invalid_input" });
}
