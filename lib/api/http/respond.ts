import type * as z from "zod";
import type { Permission } from "@/lib/contract";
import { isTestBuild } from "@/lib/env/test-build";
import { mapInTurns } from "@/lib/turns";
import { cutInTurns } from "./cut-in-turns";
import { HttpProblem, problemBody } from "./problem";

/** Shorter lists are turned into text at once: no row is large enough to matter. */
const LONG_LIST = 20;
const NEVER_STORED = { "cache-control": "private, no-store" };

/** What a handler answers when the body alone does not say it all. */
export class Reply<T> {
  constructor(
    readonly body: T,
    readonly options: { status?: number; headers?: Record<string, string> } = {},
  ) {}
}

/**
 * Returns the text of an answer, cut to what a caller who holds these permissions may see; uncut if no permissions are given.
 * The rows of a long list are cut and turned into text in turns, so that other requests go on meanwhile. A test build refuses to send
 * what the schema does not describe.
 */
export async function answerText(schema: z.ZodType, body: unknown, held?: ReadonlySet<Permission>): Promise<string> {
  if (isTestBuild) {
    const checked = schema.safeParse(body);
    if (!checked.success) throw new Error(`the answer does not fit its schema: ${checked.error.message}`);
  }
  return textInTurns(held ? await cutInTurns(schema, body, held) : body);
}

/** Returns the text of an answer; the rows of its long lists are turned into text in turns. */
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

/** An error answer; never more than the problem itself says. */
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
