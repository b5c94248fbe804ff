import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { PROBLEMS } from "@/lib/contract";
import { pagePolicy } from "./headers";
import { PAGES } from "./pages";
import { type NextHandler, type RenderedPage, renderPage } from "./render-page";

/** A rendered page, split where the nonce of each answer goes. */
interface KeptPage {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, values: readonly (readonly string[])[]])[];
  /** All answers share these buffers, so a slow reader costs no memory. */
  readonly parts: readonly Buffer[];
  readonly bytesWithoutNonces: number;
}

const LOGIN = "/login";
/** The path under which Next.js renders its "not found" page. */
const NOT_FOUND = "/_not-found";
const OPEN: ReadonlySet<string> = new Set([
  "/docs/api",
  "/docs/errors",
  ...Object.keys(PROBLEMS).map((code) => `/docs/errors/${code}`),
]);
const patternOf = (page: string) => new RegExp(`^${page.replaceAll(/\[[a-zA-Z]+\]/g, "[^/]+")}/?$`);
const KNOWN: readonly RegExp[] = PAGES.map(patternOf);
const WITH_SESSION: readonly RegExp[] = PAGES.filter((page) => page !== LOGIN && !page.startsWith("/docs/")).map(
  patternOf,
);
/** Paths of files that the framework serves. */
const FRAMEWORK = /^\/(?:_next\/static\/|icon\.svg$)/;
/** The length of every answer's nonce. */
const NONCE_BYTES = 16;

/** True if the framework serves a file under this path, without rendering. */
export const isFile = (path: string): boolean => FRAMEWORK.test(path);

/** True if the page is for signed-in visitors only. A path that ends in a slash is not yet a page's path. */
export const needsSession = (path: string): boolean =>
  (path === "/" || !path.endsWith("/")) && WITH_SESSION.some((page) => page.test(path));

/**
 * Cache of the public pages, which are the same for every visitor: reference, errors, login, "not found". Each is
 * rendered once per process, because rendering costs up to a hundred times as much as another answer, and anonymous
 * callers can ask for pages without end. Each answer gets its own nonce.
 */
export class OpenPages {
  readonly #kept = new Map<string, Promise<KeptPage>>();

  /** Returns the key of the public page that answers this request; null if the answer depends on the caller. */
  keyOf(path: string, hasSession: boolean): string | null {
    if (OPEN.has(path)) return path;
    if (path === LOGIN && !hasSession) return LOGIN;
    if (path.startsWith("/docs/errors/")) return NOT_FOUND;
    return path === "/" || isFile(path) || KNOWN.some((page) => page.test(path)) ? null : NOT_FOUND;
  }

  /** Writes the page with this request's nonce. A page that cannot be cached, such as an error, is rendered again. */
  async answer(
    key: string,
    { req, res, next }: { req: IncomingMessage; res: ServerResponse; next: NextHandler },
  ): Promise<void> {
    const page = await this.#page(key, next).catch(() => null);
    if (!page) return next(req, res);
    const nonce = String(req.headers["x-nonce"]);
    if (res.destroyed) return;
    for (const [name, values] of page.headers)
      res.setHeader(
        name,
        values.map((parts) => parts.join(nonce)),
      );
    res.setHeader("content-length", page.bytesWithoutNonces + (page.parts.length - 1) * Buffer.byteLength(nonce));
    res.writeHead(page.status);
    if (req.method !== "HEAD") writeParts(res, page.parts, nonce);
    res.end();
  }

  #page(key: string, next: NextHandler): Promise<KeptPage> {
    const known = this.#kept.get(key);
    if (known) return known;
    // Concurrent requests wait for the same rendering.
    const rendering = keep(key, next);
    this.#kept.set(key, rendering);
    rendering.catch(() => this.#kept.delete(key));
    return rendering;
  }
}

function writeParts(res: ServerResponse, parts: readonly Buffer[], nonce: string): void {
  for (const [at, part] of parts.entries()) {
    if (at > 0) res.write(nonce);
    res.write(part);
  }
}

async function keep(key: string, next: NextHandler): Promise<KeptPage> {
  const nonce = randomBytes(NONCE_BYTES).toString("hex");
  const page = await renderPage(next, key, { "x-nonce": nonce, "content-security-policy": pagePolicy(nonce, false) });
  const expected = key === NOT_FOUND ? 404 : 200;
  if (page.status !== expected) throw new Error(`the page ${key} was rendered with status ${page.status}`);
  const parts = page.body.split(nonce).map((text) => Buffer.from(text));
  if (parts.length < 2) throw new Error(`the page ${key} was rendered without a nonce`);
  return {
    status: page.status,
    headers: headersOf(page, nonce),
    parts,
    bytesWithoutNonces: parts.reduce((sum, part) => sum + part.length, 0),
  };
}

/** Headers that are not cached, because they belong to one connection or one answer. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

const headersOf = (page: RenderedPage, nonce: string): KeptPage["headers"] =>
  Object.entries(page.headers)
    .filter(([name]) => !OF_CONNECTION.has(name))
    .map(([name, value]) => [name, [value ?? ""].flat().map((text) => String(text).split(nonce))]);
