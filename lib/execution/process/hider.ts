import { type Hidden, type HidingPlan, planHiding } from "./hiding";

/** Receives folders that are newly hidden from commands; commands that already run may see them. */
export type OnHidden = (folders: readonly string[]) => void;

/**
 * Determines what to hide from a command that starts now. Folders and files come, go and move while a worker runs. A
 * hidden path stays hidden, because a link that is changed leaves its old target in place.
 */
export class Hider {
  readonly #folders = new Set<string>();
  readonly #files = new Set<string>();

  /** `first`: the plan's result from a moment ago, whose mount program is used from then on. */
  constructor(
    private readonly plan: HidingPlan,
    private readonly first: Hidden,
    private readonly onHidden: OnHidden = () => undefined,
  ) {
    this.#remember(first);
  }

  /**
   * Returns the paths to hide now. @throws JobError if a folder leads to the root of the file system, which cannot be
   * hidden
   */
  async look(): Promise<Hidden> {
    const folders = [...this.plan.folders, ...this.#folders];
    const files = [...this.plan.files, ...this.#files];
    const hidden = await planHiding({ ...this.plan, folders, files }, this.first.mount);
    const added = this.#remember(hidden);
    if (added.length > 0) this.onHidden(added);
    return hidden;
  }

  /** Records hidden paths and returns the folders that were not hidden before. */
  #remember({ covers, files, resolved }: Hidden): string[] {
    const covered = covers.filter(({ isScratch }) => !isScratch);
    const folders = new Set([...resolved, ...covered].flatMap(({ path }) => path ?? []));
    const added = [...folders].filter((path) => !this.#folders.has(path));
    for (const path of added) this.#folders.add(path);
    for (const file of files) this.#files.add(file);
    return added;
  }
}
