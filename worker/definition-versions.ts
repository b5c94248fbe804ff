import type { Database } from "@/lib/db";
import { type ClaimedJob, loadDefinitionVersion, type RunnableDefinition } from "@/lib/queue";

/** The versions of definitions that jobs were accepted with. A version never changes, so each is read once. */
export class DefinitionVersions {
  private readonly known = new Map<string, Promise<RunnableDefinition>>();

  constructor(private readonly db: Database) {}

  of({ definitionId, definitionVersion }: ClaimedJob): Promise<RunnableDefinition> {
    const key = `${definitionId}:${definitionVersion}`;
    const hit = this.known.get(key);
    if (hit) return hit;
    const loading = loadDefinitionVersion(this.db, definitionId, definitionVersion);
    this.known.set(key, loading);
    loading.catch(() => this.known.delete(key));
    return loading;
  }
}
