import { compileArgSchema, type PayloadValidator } from "./arg-schema.policy";

/** Validators by id and version of a definition. A version never changes. */
const compiled = new Map<string, PayloadValidator>();
const MOST_COMPILED = 1000;

/** The schema of one version of a definition. */
export interface VersionSchema {
  readonly id: string;
  readonly version: number;
  readonly arg_schema: unknown;
}

/**
 * Returns the validator for payloads of one version of a definition. Compiling takes longer than a whole enqueue, so
 * the process caches it.
 * @throws QueueError schema-invalid
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
