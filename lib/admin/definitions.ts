import { builtinDefinitions } from "@/jobs";
import type { Database } from "@/lib/db";
import { type Actor, createDefinition, listDefinitions } from "@/lib/queue";

const SYSTEM: Actor = { kind: "system", id: null, userId: null };

/** Registers the definitions that this code brings, once; later changes of the super admin stay. */
export async function ensureDefinitions(db: Database, log: (line: string) => void): Promise<void> {
  const known = new Set((await listDefinitions(db)).map(({ key }) => key));
  for (const definition of builtinDefinitions) {
    if (known.has(definition.key)) continue;
    await createDefinition(db, SYSTEM, definition);
    log(`definition ${definition.key} registered`);
  }
}
