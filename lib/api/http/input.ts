import * as z from "zod";
import { escapeToken, LIMITS, MalformedJson, type ProblemError, scanJson, scanJsonInTurns } from "@/lib/contract";
import type { ReportChange } from "@/lib/execution/output/clean-result";
import { parseCapturedInTurns } from "@/lib/execution/output/exact-json";
import { cutCharacters } from "@/lib/text/cut-characters";
import { Turns } from "@/lib/turns";
import { LONG_BODY_BYTES, takePlace } from "./body-places";
import { HttpProblem } from "./problem";
import { wordsOf } from "./zod-messages";

const MAX_ERRORS = 20;
const MAX_KEY_IN_TEXT = 100;
// Shorter than the deadline of a route, so a slow client gets `body-too-slow` and not `unavailable`.
const BODY_WITHIN_MS = 3500;
/** A body of more characters, or with a longer list, is checked in turns from the start. */
const LONG_TEXT = 32_768;
const LONG_LIST = 50;

/** Converts the first of zod's issues to pointers and texts. Never quotes a value from the request. */
export function toProblemErrors(error: z.ZodError, within: readonly (string | number)[] = []): ProblemError[] {
  const errors: ProblemError[] = [];
  for (const issue of error.issues) {
    const pointer = pointerTo([...within, ...issue.path]);
    const left = MAX_ERRORS - errors.length;
    if (issue.code === "unrecognized_keys")
      for (const key of issue.keys.slice(0, left))
        errors.push({ pointer: pointer + pointerTo([key]), code: "unknown-field", detail: "is not a known field" });
    else errors.push({ pointer, code: issue.code.replaceAll("_", "-"), detail: issue.message });
    if (errors.length >= MAX_ERRORS) break;
  }
  return errors;
}

const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((step) => `/${escapeToken(cutCharacters(String(step), MAX_KEY_IN_TEXT))}`).join("");

/** Parses path parameters. Malformed ones answer 400, before any lookup. */
export function parseParams<T>(schema: z.ZodType<T>, raw: unknown): T {
  const result = schema.safeParse(raw, { error: wordsOf });
  if (result.success) return result.data;
  throw new HttpProblem("invalid-path", { errors: toProblemErrors(result.error) });
}

/** Parses the query string. Unknown, repeated and malformed parameters answer 400. */
export function parseQuery<T>(schema: z.ZodType<T>, search: string): T {
  const raw = Object.create(null) as Record<string, string | string[]>;
  for (const [name, value] of decodeQuery(search)) {
    const known = raw[name];
    if (Array.isArray(known)) known.push(value);
    else raw[name] = known === undefined ? value : [known, value];
  }
  const result = schema.safeParse({ ...raw }, { error: wordsOf });
  if (result.success) return result.data;
  throw new HttpProblem("invalid-query", { errors: toProblemErrors(result.error) });
}

function decodeQuery(search: string): URLSearchParams {
  try {
    const text = decodeURIComponent(search);
    if (text.includes("\u0000")) throw new URIError("NUL");
  } catch {
    throw new HttpProblem("invalid-query", { detail: "The query string is not valid percent-encoded UTF-8." });
  }
  return new URLSearchParams(search);
}

/** Reads a JSON body, limited in bytes and in JSON values. An empty body counts as `{}`. */
export async function readJson(
  request: Request,
  maxBytes: number = LIMITS.bodyBytes,
  maxNodes?: number,
): Promise<unknown> {
  const text = await readText(request, maxBytes);
  if (text === "") return {};
  const turns = new Turns();
  const pause = () => turns.next();
  try {
    if (text.length > LONG_TEXT) await turns.begin();
    const errors = await scanJsonInTurns(text, pause, maxNodes);
    await pause();
    const value = parsed(text, errors);
    // Validation of the value takes a turn of its own.
    await pause();
    return value;
  } catch (error) {
    throw refusalOf(error);
  }
}

function parsed(text: string, errors: readonly ProblemError[]): unknown {
  if (errors.length > 0) throw new HttpProblem("validation-failed", { errors: [...errors] });
  return JSON.parse(text);
}

function refusalOf(error: unknown): unknown {
  if (!(error instanceof MalformedJson)) return error;
  return new HttpProblem("malformed-json", { detail: `The body is not valid JSON (at character ${error.position}).` });
}

/**
 * Reads JSON that a worker captured. Values that cannot be stored exactly are not refused but must be cleaned, because
 * recording the end of an attempt must not fail. `report` is called for every value that differs from what was sent.
 */
export async function readCapturedJson(request: Request, report: ReportChange): Promise<unknown> {
  const text = await readText(request, LIMITS.bodyBytes);
  try {
    const turns = new Turns();
    if (text.length > LONG_TEXT) await turns.begin();
    return text === "" ? {} : await parseCapturedInTurns(text, report, () => turns.next());
  } catch (error) {
    // The reason for which the work was abandoned.
    if (error instanceof HttpProblem) throw error;
    throw new HttpProblem("malformed-json", { detail: "The body is not valid JSON." });
  }
}

async function readText(request: Request, maxBytes: number): Promise<string> {
  const bytes = await readCapped(request, maxBytes);
  if (bytes.length === 0) return "";
  requireJsonType(request.headers);
  if (bytes.length > LONG_BODY_BYTES) await takePlace("parsed");
  return decodeUtf8(bytes);
}

function requireJsonType(headers: Headers): void {
  const type = (headers.get("content-type") ?? "").toLowerCase();
  if (!/^application\/json *(?:; *charset="?utf-8"?)?$/.test(type)) {
    throw new HttpProblem("unsupported-media-type", { headers: { accept: "application/json" } });
  }
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding !== "identity") {
    throw new HttpProblem("unsupported-media-type", { detail: "Compressed bodies are not accepted." });
  }
}

/** Reads a body as bytes, up to `maxBytes`. */
export const readBytes = (request: Request, maxBytes: number): Promise<Uint8Array> => readCapped(request, maxBytes);

async function readCapped(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (!request.body) return new Uint8Array();
  const tooLarge = new HttpProblem("body-too-large", { detail: `The body may have at most ${maxBytes} bytes.` });
  const declared = request.headers.get("content-length");
  if (Number(declared ?? 0) > maxBytes) throw tooLarge;
  if (declared === null || Number(declared) > LONG_BODY_BYTES) await takePlace("read");
  const reader = request.body.getReader();
  const late = new HttpProblem("body-too-slow", { headers: { connection: "close" } });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    void reader.cancel(late).catch(() => undefined);
  }, BODY_WITHIN_MS);
  try {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length;
      if (size > maxBytes) throw tooLarge;
      chunks.push(next.value);
    }
    if (timedOut) throw late;
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof HttpProblem) throw error;
    throw new HttpProblem("bad-request", { detail: "The body ended early." });
  } finally {
    clearTimeout(timer);
  }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new HttpProblem("malformed-json", { detail: "The body is not valid UTF-8." });
  }
}

/** Parses JSON strictly: 400 for malformed JSON, 422 with pointers when parsing would lose or change a value. */
export function parseJson(text: string, maxNodes?: number): unknown {
  try {
    return parsed(text, scanJson(text, maxNodes));
  } catch (error) {
    throw refusalOf(error);
  }
}

/** Validates a parsed body. Problems answer 422 with pointers. */
export function parseBody<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value, { error: wordsOf });
  if (result.success) return result.data;
  throw new HttpProblem("validation-failed", { errors: toProblemErrors(result.error) });
}

/**
 * Like `parseBody`, for a body with a long list under `field` and no rules across its fields. Checks the entries in
 * turns and stops at the maximum number of errors in an answer, so that a body full of errors does not block the event
 * loop.
 */
export async function parseListBody<T>(schema: z.ZodType<T>, value: unknown, field: string): Promise<T> {
  const { shape } = schema as unknown as z.ZodObject<Record<string, z.ZodArray<z.ZodType>>>;
  const list = shape[field];
  if (!list) throw new Error(`the schema has no list ${field}`);
  // Only the list's own checks, all of which concern its length.
  const bounds = (list.def.checks ?? []) as unknown as readonly z.core.$ZodCheck<unknown[]>[];
  const unchecked = z.array(z.unknown()).check(...bounds);
  const body = parseBody(z.strictObject({ ...shape, [field]: unchecked }), value);
  const entries = body[field] as unknown[];
  const turns = new Turns();
  if (entries.length > LONG_LIST) await turns.begin();
  const errors: ProblemError[] = [];
  for (const [at, entry] of entries.entries()) {
    const result = list.element.safeParse(entry, { error: wordsOf });
    if (result.success) entries[at] = result.data;
    else errors.push(...toProblemErrors(result.error, [field, at]));
    if (errors.length >= MAX_ERRORS) break;
    await turns.next();
  }
  if (errors.length > 0) throw new HttpProblem("validation-failed", { errors: errors.slice(0, MAX_ERRORS) });
  return body as T;
}
