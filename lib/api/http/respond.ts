import type * as z from "zod";
import type { Permission } from "@/lib/contract";
import { isTestBuild } from "@/lib/env/test-build";
import { mapInTurns } from "@/lib/turns";
import { cutInTurns } from "./cut-in-turns";
import { HttpProblem, problemBody } from "./problem";

/** Shorter lists are serialized at once, because no row is large enough to matter. */
const LONG_LIST = 20;
const NEVER_STORED = { "cache-control": "private, no-store" };

/** An answer with a status or headers beside its body. */
export class Reply<T> {
  constructor(
    readonly body: T,
    readonly options: { status?: number; headers?: Record<string, string> } = {},
  ) {}
}

/**
 * Returns the text of an answer, cut to what a caller with these permissions may see; uncut if no permissions are
 * given. The rows of a long list are cut and serialized in turns, so that other requests are served meanwhile.
 * @throws Error in a test build, for an answer that does not fit its schema
 */
export async function answerText(schema: z.ZodType, body: unknown, held?: ReadonlySet<Permission>): Promise<string> {
  if (isTestBuild) {
    const checked = schema.safeParse(body);
    if (!checked.success) throw new Error(`the answer does not fit its schema: ${checked.error.message}`);
  }
  return textInTurns(held ? await cutInTurns(schema, body, held) : body);
}

/** Returns the text of an answer. The rows of its long lists are serialized in turns. */
export async function textInTurns(body: unknown): Promise<string> {
  const fields = Object.entries((body ?? {}) as object).filter(([, value]) => value !== undefined);
  if (!fields.some(([, value]) => isLongList(value))) return JSON.stringify(body);
  const texts: string[] = [];
  for (const [name, value] of fields) {
    const text = isLongList(value) ? `[${(await mapInTurns(value, rowText)).join(",")}]` : JSON.stringify(value);
    texts.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${texts.join(",")}}`;
}

const isLongList = (value: unknown): value is readonly unknown[] => Array.isArray(value) && value.length >= LONG_LIST;
const rowText = (row: unknown): string => JSON.stringify(row) ?? "null";

export function jsonResponse(text: string, status: number, headers: Record<string, string>): Response {
  return new Response(text, { status, headers: { "content-type": "application/json", ...NEVER_STORED, ...headers } });
}

/** Returns an error answer, which holds nothing beyond the problem itself. */
export function problemResponse(problem: HttpProblem, instance: string, requestId: string): Response {
  const challenge: Record<string, string> =
    problem.status === 401 ? { "www-authenticate": 'Bearer realm="leasehold"' } : {};
  return new Response(JSON.stringify(problemBody(problem, instance, requestId)), {
    status: problem.status,
    headers: {
      "content-type": "application/problem+json",
      ...NEVER_STORED,
      "x-request-id": requestId,
      ...challenge,
      ...problem.headers,
    },
  });
}

export function internalError(): HttpProblem {
  return new HttpProblem("internal-error", { detail: "Quote the request id when you report this." });
}
