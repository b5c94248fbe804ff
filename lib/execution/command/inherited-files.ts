import { descriptorPath } from "@/lib/files/open-folder";
import { type Hidden, isHiddenBy, type Shared } from "../process/hiding";
import { LIFELINE_FD } from "../process/supervisor";
import type { OpenedPath } from "../types";

const FIRST_FD = LIFELINE_FD + 1;

interface Inherited {
  readonly opened: OpenedPath;
  readonly isWritable: boolean;
}

/**
 * The files and folders that a command inherits open, from `FIRST_FD` on. The command gets what the worker opened, even
 * if the path is replaced meanwhile.
 */
export class InheritedFiles {
  readonly #inherited: Inherited[] = [];

  /** `hidden`: the paths hidden from the command. */
  constructor(private readonly hidden: Hidden | null) {}

  /**
   * Adds a file or folder and returns the path by which the command reaches it. That is `/proc/self/fd/N`, with a slash
   * after a folder, so that programs that do not follow a link given to them enter it. It is the real path for an entry
   * in a hidden folder, where only the shared entry is found, and on systems without `/proc`.
   */
  add(opened: OpenedPath, { isWritable }: { readonly isWritable: boolean }): string {
    const fd = FIRST_FD + this.#inherited.length;
    this.#inherited.push({ opened, isWritable });
    if (this.hidden && isHiddenBy(this.hidden.covers, opened.path)) return opened.path;
    const path = descriptorPath(fd) ?? opened.path;
    return opened.kind === "folder" ? `${path}/` : path;
  }

  get descriptors(): readonly number[] {
    return this.#inherited.map(({ opened }) => opened.handle.fd);
  }

  get shared(): readonly Shared[] {
    return this.#inherited.map(({ opened: { path, kind }, isWritable }) => ({
      path,
      isFolder: kind === "folder",
      isWritable,
    }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#inherited.map(({ opened }) => opened.close()));
  }
}
