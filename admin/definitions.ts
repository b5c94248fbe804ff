import { builtinDefinitions } from "@/jobs";
import type { Database } from "@/lib/db";
import { createDefinition, listDefinitions, SYSTEM } from "@/lib/queue";

/** Registers this code's definitions, once; later changes by a super admin stay. */
export async function ensureDefinitions(db: Database, log: (line: string) => void): Promise<void> {
  const known = new Set((await listDefinitions(db)).map(({ key }) => key));
  for (const { key, description, executor, ...rest } of builtinDefinitions) {
    if (known.has(key)) continue;
    await createDefinition(db, SYSTEM, {
      key,
      description,
      executor,
      ...(rest.command_key === null ? {} : { command_key: rest.command_key }),
      arg_schema: rest.arg_schema,
      timeout_seconds: rest.timeout_seconds,
      max_attempts: rest.max_attempts,
      ...(rest.retry ? { retry: rest.retry } : {}),
      ...(rest.retry_classes ? { retry_classes: rest.retry_classes } : {}),
    });
    log(`definition ${key} registered`);
  }
}
