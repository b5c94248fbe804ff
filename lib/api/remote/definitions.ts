import type { Runner } from "@/lib/db";
import {
  type ClaimedJob,
  compileArgSchema,
  loadDefinitionVersion,
  type PayloadValidator,
  type RunnableDefinition,
} from "@/lib/queue";

const MOST_REMEMBERED = 1000;

export interface KnownVersion {
  readonly definition: RunnableDefinition;
  readonly validate: PayloadValidator;
}

const versions = new Map<string, Promise<KnownVersion>>();

/** The version of its definition that a job was accepted with. Versions never change, so each is read once. */
export function versionOf(
  db: Runner,
  { definitionId, definitionVersion }: Pick<ClaimedJob, "definitionId" | "definitionVersion">,
): Promise<KnownVersion> {
  const key = `${definitionId}:${definitionVersion}`;
  const known = versions.get(key);
  if (known) return known;
  if (versions.size >= MOST_REMEMBERED) versions.clear();
  const loading = load(db, definitionId, definitionVersion);
  versions.set(key, loading);
  loading.catch(() => versions.delete(key));
  return loading;
}

async function load(db: Runner, definitionId: string, version: number): Promise<KnownVersion> {
  const definition = await loadDefinitionVersion(db, definitionId, version);
  return { definition, validate: compileArgSchema(definition.argSchema) };
}
