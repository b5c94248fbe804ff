import * as z from "zod";
import * as contract from "@/lib/contract";
import { guardsOf } from "@/lib/contract/shown";

type Json = Record<string, unknown>;
interface Id {
  id: string;
}
type Named = z.core.$ZodRegistry<Id>;

const LOCAL = "#/$defs/";
const SHARED = "#/components/schemas/";

/**
 * Converts schemas to JSON Schema for an OpenAPI document. A schema that the contract exports is written once, under
 * its exported name in PascalCase (`job` is `Job`), and referenced everywhere else, so that client generators create
 * one type for it. Parameters of paths and queries stay inline.
 */
export class OpenApiComponents {
  /** Schemas used in answers. */
  readonly #answers = z.registry<Id>();
  /** Whole request bodies. Defaults and transforms make their parts differ from answers, so the parts are inline. */
  readonly #bodies = z.registry<Id>();
  readonly #schemas = new Map<string, Json>();

  constructor() {
    for (const [name, schema] of Object.entries(contract)) {
      if (isNamed(name, schema)) this.#answers.add(schema, { id: pascal(name) });
    }
  }

  /** The components referenced so far, by name. */
  get schemas(): Json {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Returns the schema of an answer. */
  answer(schema: z.ZodType): Json {
    return this.#refer(schema, "output", this.#answers);
  }

  /** Returns the schema of a request body. */
  body(schema: z.ZodType): Json {
    const id = this.#answers.get(schema)?.id;
    if (id) this.#bodies.add(schema, { id });
    return this.#refer(schema, "input", this.#bodies);
  }

  #refer(schema: z.ZodType, io: "input" | "output", registry: Named): Json {
    const { $defs = {}, ...root } = jsonSchema(schema, io, registry);
    for (const [id, part] of Object.entries($defs as Record<string, Json>)) this.#define(id, part);
    const id = registry.get(schema)?.id;
    if (!id || root.$ref) return shared(root);
    this.#define(id, root);
    return { $ref: SHARED + id };
  }

  #define(id: string, { id: _, ...part }: Json): void {
    const text = shared(part);
    const before = this.#schemas.get(id);
    if (before && JSON.stringify(before) !== JSON.stringify(text)) {
      throw new Error(`${id} is the body of a request and part of an answer, and differs between them`);
    }
    this.#schemas.set(id, text);
  }
}

/** Converts a schema to JSON Schema draft 2020-12, which OpenAPI 3.1 uses. */
export function jsonSchema(schema: z.ZodType, io: "input" | "output", metadata?: z.core.$ZodRegistry<Id>): Json {
  const made = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    target: "draft-2020-12",
    override: ({ zodSchema, jsonSchema: made }) => {
      const guards = io === "output" ? guardsOf(zodSchema) : [];
      if (guards.length === 0) return;
      made.required = (made.required ?? []).filter((name) => guards.every(({ keep }) => keep.has(name)));
      made["x-shown-with"] = guards.map(({ permissions, keep }) => ({ permissions, others_get: [...keep] }));
    },
    ...(metadata ? { metadata } : {}),
  });
  const { $schema: _, ...rest } = made;
  return rest;
}

function isNamed(name: string, value: unknown): value is z.ZodType {
  return value instanceof z.ZodType && !/(?:Params|Query)$/.test(name) && !isText(value);
}

/** Ids, instants and names are clearer inline than as named components. */
function isText(schema: z.ZodType): boolean {
  return !(
    schema instanceof z.ZodObject ||
    schema instanceof z.ZodEnum ||
    schema instanceof z.ZodUnion ||
    schema instanceof z.ZodDiscriminatedUnion
  );
}

function shared(part: Json): Json {
  return JSON.parse(JSON.stringify(part).replaceAll(`"${LOCAL}`, `"${SHARED}`));
}

function pascal(name: string): string {
  return name[0]?.toUpperCase() + name.slice(1);
}
