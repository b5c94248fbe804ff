import { compileArgSchema, type PayloadValidator } from "./arg-schema.policy";

/** By id and version of a definition: what one says never changes. */
const compiled = new Map<string, PayloadValidator>();
const MOST_COMPILED = 1000;

/** The schema of one version of a definition. */
export interface VersionSchema {
  readonly id: string;
  readonly version: number;
  readonly arg_schema: unknown;
}

/**
 * What checks payloads for one version of a definition. Compiling takes longer than all of an enqueue, so it is done once
 * for the process. @throws QueueError schema-invalid
 */
export function validatorOf({ id, version, arg_schema }: VersionSchema): PayloadValidator {
  const key = `${id}:${version}`;
  const known = compiled.get(key);
  if (known) return known;
  const validate = compileArgSchema(arg_schema);
  const [oldest] = compiled.keys();
  if (compiled.size >= MOST_COMPILED && oldest !== undefined) compiled.delete(oldest);
  compiled.set(key, validate);
  return validate;
}
