import * as z from "zod";
import { JOB_STATUSES } from "@/lib/queue/states";
import { LIMITS } from "./limits";

export const id = z.guid().toLowerCase();

const EARLIEST = Date.UTC(1970, 0, 1);
const LATEST = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * An instant in a request: RFC 3339 with a zone, rewritten to UTC with milliseconds. Local times are refused, never
 * guessed.
 */
export const instantIn = z.iso
  .datetime({
    offset: true,
    abort: true,
    error: "must be an RFC 3339 instant with a zone, such as 2026-02-16T10:30:00Z",
  })
  .refine((text) => Date.parse(text) >= EARLIEST && Date.parse(text) <= LATEST, "must lie between 1970 and 9999")
  .overwrite((text) => new Date(text).toISOString());

/** An instant in an answer: RFC 3339 in UTC. */
export const instant = z.iso.datetime();

export const slug = z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, "must be a tenant slug");
export const queueName = z.string().regex(/^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/, "must be a queue name");
export const definitionKey = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?$/, "must be a definition key (a-z, 0-9, '.', '_', '-')");

/** Any JSON value, kept exactly as sent. Its limits are checked where it is used. */
export const json = z.unknown();
/** A JSON object, kept exactly as sent. */
export const jsonObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  )
  .meta({ type: "object", additionalProperties: true });

/** A whole number in a query string. Digits only, so `1e3`, ` 1` and `1.5` are refused. */
export function queryInteger(min: number, max: number) {
  return z
    .string()
    .regex(/^(?:0|[1-9][0-9]{0,9})$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .meta({ type: "integer", minimum: min, maximum: max, pattern: undefined });
}

/** Query parameters of every list. */
export const pageQuery = {
  limit: queryInteger(1, LIMITS.pageSizeMax).optional(),
  offset: queryInteger(0, LIMITS.offsetMax).optional(),
  cursor: z.string().min(1).max(1024).optional(),
};

export const pagination = z.object({
  limit: z.int(),
  offset: z.int(),
  total: z.int(),
  total_relation: z.enum(["eq", "gte"]),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
});
export type Pagination = z.infer<typeof pagination>;

/** A page of a list. */
export interface ListOf<T> {
  readonly data: readonly T[];
  readonly pagination: Pagination;
}

/** The schema of a page of a list. */
export function listOf<T extends z.ZodType>(row: T) {
  return z.object({ data: z.array(row), pagination });
}

export const jobStatus = z.enum(JOB_STATUSES);
