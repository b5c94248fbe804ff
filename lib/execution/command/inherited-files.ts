import { descriptorPath } from "@/lib/files/open-folder";
import { LIFELINE_FD } from "../process/supervisor";
import type { OpenedPath } from "../types";

const FIRST_FD = LIFELINE_FD + 1;

/** What a command inherits open, from `FIRST_FD` on: whatever is put in its place meanwhile, the command has this. */
export class InheritedFiles {
  readonly #opened: OpenedPath[] = [];

  /**
   * Answers the path that means the file or folder in the command's own processes: `/proc/self/fd/N`, with a slash after a
   * folder, so that programs that do not follow links given to them enter it. Without `/proc` it is the real path.
   */
  add(opened: OpenedPath): string {
    const path = descriptorPath(FIRST_FD + this.#opened.length) ?? opened.path;
    this.#opened.push(opened);
    return opened.kind === "folder" ? `${path}/` : path;
  }

  get descriptors(): readonly number[] {
    return this.#opened.map(({ handle }) => handle.fd);
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((opened) => opened.close()));
  }
}
