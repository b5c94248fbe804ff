import { type Hidden, type HidingPlan, planHiding } from "./hiding";

/** Hears of folders that are hidden from the commands that start from then on, and that running commands may see. */
export type OnHidden = (folders: readonly string[]) => void;

/**
 * Says what to hide from a command that starts now. Folders and files come, go and change their place while a worker runs.
 * What was hidden once stays hidden, because a link that leads elsewhere leaves the files that it led to.
 */
export class Hider {
  readonly #folders = new Set<string>();
  readonly #files = new Set<string>();

  /** `first`: what the plan hid a moment ago, by way of the mount program that is used from then on. */
  constructor(
    private readonly plan: HidingPlan,
    private readonly first: Hidden,
    private readonly onHidden: OnHidden = () => undefined,
  ) {
    this.#remember(first);
  }

  /** @throws JobError if a folder leads to the root of the file system, which cannot be hidden */
  async look(): Promise<Hidden> {
    const folders = [...this.plan.folders, ...this.#folders];
    const files = [...this.plan.files, ...this.#files];
    const hidden = await planHiding({ ...this.plan, folders, files }, this.first.mount);
    const added = this.#remember(hidden);
    if (added.length > 0) this.onHidden(added);
    return hidden;
  }

  /** Returns the folders that were not hidden before. */
  #remember({ covers, files, places }: Hidden): string[] {
    const covered = covers.filter(({ isScratch }) => !isScratch);
    const folders = new Set([...places, ...covered].flatMap(({ path }) => path ?? []));
    const added = [...folders].filter((path) => !this.#folders.has(path));
    for (const path of added) this.#folders.add(path);
    for (const file of files) this.#files.add(file);
    return added;
  }
}
