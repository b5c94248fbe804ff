import { BoundedMap } from "@/lib/async/bounded-map";
import type { Runner } from "@/lib/db";
import type { ClaimedJob, RunnableDefinition } from "../attempts/types";
import { loadDefinitionVersion } from "./read-definitions";

const MOST_KNOWN = 1000;

type Accepted = Pick<ClaimedJob, "definitionId" | "definitionVersion">;

const keyOf = ({ definitionId, definitionVersion }: Accepted): string => `${definitionId}:${definitionVersion}`;

/** Caches the versions of definitions with which jobs were accepted. A version never changes, so each is read once. */
export class DefinitionVersions {
  private readonly known = new BoundedMap<string, RunnableDefinition | Promise<RunnableDefinition>>(MOST_KNOWN);
  /** The last version returned. Jobs of one definition come in sequence, so most lookups need no key. */
  private last: RunnableDefinition | undefined;

  /** Returns the version with which a job was accepted. @throws QueueError definition-unknown */
  async of(db: Runner, job: Accepted): Promise<RunnableDefinition> {
    const key = keyOf(job);
    const hit = this.known.get(key);
    if (hit) return hit;
    const loading = loadDefinitionVersion(db, job.definitionId, job.definitionVersion);
    this.known.set(key, loading);
    loading.then(
      (definition) => this.known.set(key, definition),
      () => this.known.delete(key),
    );
    return loading;
  }

  /** Returns the version if it is cached. */
  ifKnown(job: Accepted): RunnableDefinition | undefined {
    const { last } = this;
    if (last?.definitionId === job.definitionId && last.version === job.definitionVersion) return last;
    const hit = this.known.get(keyOf(job));
    if (hit === undefined || hit instanceof Promise) return undefined;
    this.last = hit;
    return hit;
  }
}
