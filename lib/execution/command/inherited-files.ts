import { descriptorPath } from "@/lib/files/open-folder";
import { type Hidden, isHiddenBy, type Shared } from "../process/hiding";
import { LIFELINE_FD } from "../process/supervisor";
import type { OpenedPath } from "../types";

const FIRST_FD = LIFELINE_FD + 1;

interface Inherited {
  readonly opened: OpenedPath;
  readonly isWritable: boolean;
}

/** What a command gets open, from `FIRST_FD` on: whatever is put in its place meanwhile, the command has this. */
export class InheritedFiles {
  readonly #inherited: Inherited[] = [];

  /** `hidden`: what the command does not find. */
  constructor(private readonly hidden: Hidden | null) {}

  /**
   * Answers the path that means the file or folder for the command: its real path, where that holds nothing else for the
   * command. Otherwise `/proc/self/fd/N`, with a slash after a folder, so that programs that do not follow links given to
   * them enter it; without `/proc` the real path.
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
