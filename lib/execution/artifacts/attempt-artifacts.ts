/**
 * Files that an attempt keeps. Start with `AttemptArtifacts`, then `collectFiles` for the files of commands.
 *
 * Content is stored in chunks while it is written, with known secrets masked. An artifact becomes visible when it has
 * ended; unfinished ones are deleted with the attempt. A command's file is read through open folders only, never
 * through a link.
 */

import { NonRetryableError } from "../errors";
import { cleanMessage } from "../output/clean-result";
import type { SecretForms } from "../output/secret-forms";
import type { RunContext } from "../types";
import { ChunkedArtifact } from "./chunked-artifact";
import { contentTypeOf, nameProblem } from "./names";
import type { ArtifactContent, ArtifactOptions, ArtifactWriter, KeptArtifact } from "./types";

/** The artifacts of one attempt, made by its handler, by its commands, or by both. */
export class AttemptArtifacts {
  readonly #byName = new Map<string, ChunkedArtifact>();

  constructor(
    private readonly ctx: Pick<RunContext, "artifacts" | "onLog">,
    private readonly secrets: SecretForms,
  ) {}

  /**
   * Begins an artifact; nothing is stored before its first chunk. `check` throws when the attempt has to stop.
   * @throws NonRetryableError for a name that is invalid or was already used in this attempt
   */
  open(name: string, { contentType }: ArtifactOptions, check: () => void): ArtifactWriter {
    const { artifacts: store, onLog } = this.ctx;
    if (!store) throw refused("artifacts cannot be stored here");
    const problem = nameProblem(name);
    if (problem) throw refused(`an artifact ${problem}`);
    if (this.#byName.has(name)) throw refused(`artifact ${JSON.stringify(name)} was begun twice in one attempt`);
    const report = (what: string) => onLog.call(this.ctx, "warn", cleanMessage(what, this.secrets));
    const options = {
      name,
      contentType: contentTypeOf(name, contentType),
      store,
      secrets: this.secrets,
      check,
      report,
    };
    const artifact = new ChunkedArtifact(options);
    this.#byName.set(name, artifact);
    return artifact;
  }

  /**
   * Waits for artifacts that are ending.
   * @throws NonRetryableError when one was begun and not ended, because its content would be lost
   */
  async settle(): Promise<void> {
    for (const artifact of this.#byName.values()) await artifact.idle();
    const open = [...this.#byName.values()].find(({ state }) => state === "open");
    if (open) throw refused(`artifact ${JSON.stringify(open.name)} was begun and not ended`);
  }

  /** Deletes unfinished artifacts. Does not throw. */
  async discard(): Promise<void> {
    for (const artifact of this.#byName.values()) await artifact.idle();
    const ids = [...this.#byName.values()].flatMap(({ unfinishedId }) => unfinishedId ?? []);
    if (ids.length > 0) await this.ctx.artifacts?.discard(ids);
  }
}

/** Stores whole content: text, bytes, or pieces from an iterable. */
export async function writeArtifact(writer: ArtifactWriter, content: ArtifactContent): Promise<KeptArtifact> {
  if (typeof content === "string" || content instanceof Uint8Array) await writer.write(content);
  else for await (const piece of content) await writer.write(piece);
  return writer.end();
}

/** True if the second argument of `ctx.artifact` is the content, not the options. */
export function isContent(value: unknown): value is ArtifactContent {
  if (typeof value === "string" || value instanceof Uint8Array) return true;
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

const refused = (message: string): NonRetryableError => new NonRetryableError(message, { errorType: "internal" });
