import type { FolderRemover } from "../process/folder-remover";
import type { RunAs } from "../process/run-as";
import { makeWorkFolder, prepareWorkRoot, removeWorkFolder } from "../process/work-folder";

/** No command can be prepared on this machine now. The job is not to blame. */
export class CannotPrepareError extends Error {
  override readonly name = "CannotPrepareError";
}

/** Tracks if this worker can prepare commands at all, that is, make their working folders. */
export class Preparation {
  #problem: string | null = null;
  readonly #remover: FolderRemover;
  /** Called when commands can no longer be prepared, or can be again. */
  onChange: () => void = () => undefined;

  readonly #leave: () => Promise<void>;

  /** `leave` is called when the worker stops. */
  constructor(remover: FolderRemover, leave: () => Promise<void>) {
    this.#remover = remover;
    this.#leave = leave;
  }

  /** Why no command can be prepared; null when commands can be. */
  get problem(): string | null {
    return this.#problem;
  }

  /** Makes a job's working folder, and the parent folder if it was removed. @throws CannotPrepareError */
  async makeFolder(root: string, runAs: RunAs | null): Promise<string> {
    try {
      const folder = await makeWorkFolder(root, runAs).catch(async () => {
        await prepareWorkRoot(root, this.#remover);
        return makeWorkFolder(root, runAs);
      });
      this.#become(null);
      return folder;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "unknown error";
      const problem = `no working folder can be made in ${root} (${code})`;
      this.#become(problem);
      throw new CannotPrepareError(problem);
    }
  }

  /** Checks if commands can be prepared again. */
  async lookAgain(root: string, runAs: RunAs | null): Promise<void> {
    const folder = await this.makeFolder(root, runAs).catch(() => null);
    if (folder !== null) await this.removeFolder(folder);
  }

  /** Removes a job's working folder; see {@link FolderRemover} for a folder that is not empty. Does not throw. */
  removeFolder(folder: string): Promise<void> {
    return removeWorkFolder(folder, this.#remover);
  }

  /** Gives the removal of folders `withinMs` to finish, then ends it. The next worker that starts removes the rest. */
  async stop(withinMs: number): Promise<void> {
    await this.#remover.stop(withinMs);
    await this.#leave();
  }

  #become(problem: string | null): void {
    const isChange = (problem === null) !== (this.#problem === null);
    this.#problem = problem;
    if (isChange) this.onChange();
  }
}
