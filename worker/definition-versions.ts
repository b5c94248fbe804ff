import type { Database } from "@/lib/db";
import { type ClaimedJob, loadDefinitionVersion, type RunnableDefinition } from "@/lib/queue";

/** The versions of definitions that jobs were accepted with. A version never changes, so each is read once. */
export class DefinitionVersions {
  private readonly known = new Map<string, Promise<RunnableDefinition>>();
  private readonly loaded = new Map<string, RunnableDefinition>();

  constructor(private readonly db: Database) {}

  of({ definitionId, definitionVersion }: ClaimedJob): Promise<RunnableDefinition> {
    const key = `${definitionId}:${definitionVersion}`;
    const hit = this.known.get(key);
    if (hit) return hit;
    const loading = loadDefinitionVersion(this.db, definitionId, definitionVersion);
    this.known.set(key, loading);
    loading.then(
      (definition) => this.loaded.set(key, definition),
      () => this.known.delete(key),
    );
    return loading;
  }

  /** The version if it has been read already. */
  ifKnown({ definitionId, definitionVersion }: ClaimedJob): RunnableDefinition | undefined {
    return this.loaded.get(`${definitionId}:${definitionVersion}`);
  }
}
