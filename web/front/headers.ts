import { randomBytes, randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { CLIENT_IP_HEADER, FILE_LENGTH_HEADER, REQUEST_ID_HEADER, usableRequestId } from "@/lib/api/http/request-info";
import type { FindClient } from "./client-address";

// Headers that only the framework or a proxy may set: clients could use them to bypass checks.
const STRIPPED = new Set([
  "next-action",
  "x-nextjs-data",
  "x-matched-path",
  "x-now-route-matches",
  "x-prerender-revalidate",
  "x-original-url",
  "x-rewrite-url",
  "x-nonce",
  "forwarded",
  "content-security-policy",
  "content-security-policy-report-only",
]);
const STRIPPED_PREFIXES = ["x-middleware-", "x-invoke-", "x-next-", "x-forwarded-", "x-vercel-", "x-leasehold-"];

// Headers of the page router; on an API route they only make the framework redirect.
const PAGE_ONLY = /^(?:rsc$|next-router-|next-url$)/;

/**
 * Removes the headers that a client must not set, and adds the client's address and the request id. Returns the id. All
 * later code takes the address from this header.
 */
export function cleanRequestHeaders(req: IncomingMessage, isApi: boolean, findClient: FindClient): string {
  const client = findClient(req.socket.remoteAddress, req.headers["x-forwarded-for"]?.toString());
  for (const name of Object.keys(req.headers)) {
    const isForeign = STRIPPED.has(name) || STRIPPED_PREFIXES.some((prefix) => name.startsWith(prefix));
    if (isForeign || (isApi && PAGE_ONLY.test(name))) delete req.headers[name];
  }
  const sent = req.headers[REQUEST_ID_HEADER];
  const requestId = usableRequestId(typeof sent === "string" ? sent : null) ?? randomUUID();
  req.headers[REQUEST_ID_HEADER] = requestId;
  if (client !== null) req.headers[CLIENT_IP_HEADER] = client;
  return requestId;
}

interface PolicyOptions {
  readonly isApi: boolean;
  readonly isHttps: boolean;
  readonly dev: boolean;
}

/** Sets the security headers of an answer. A page's nonce also goes into the request, where the renderer finds it. */
export function setSecurityHeaders(req: IncomingMessage, res: ServerResponse, options: PolicyOptions): void {
  res.setHeader("x-content-type-options", "nosniff");
  res.setHeader("x-frame-options", "DENY");
  res.setHeader("referrer-policy", "same-origin");
  res.setHeader("cross-origin-opener-policy", "same-origin");
  res.setHeader("cross-origin-resource-policy", "same-origin");
  res.setHeader("permissions-policy", "camera=(), microphone=(), geolocation=()");
  if (options.isHttps) res.setHeader("strict-transport-security", "max-age=31536000; includeSubDomains");
  if (options.isApi) {
    res.setHeader("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    return;
  }
  const nonce = randomBytes(16).toString("base64");
  const policy = pagePolicy(nonce, options.dev);
  req.headers["x-nonce"] = nonce;
  req.headers["content-security-policy"] = policy;
  res.setHeader("content-security-policy", policy);
}

/** Returns the content security policy of a page whose scripts carry this nonce. */
export function pagePolicy(nonce: string, dev: boolean): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${dev ? " 'unsafe-eval'" : ""}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self'",
    `connect-src 'self'${dev ? " ws:" : ""}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/**
 * Sets the content-length of a file. The framework drops it, so the route sends the length in a header of its own. The
 * body is sandboxed, because no browser may run any of it.
 */
export function sendLengths(res: ServerResponse): void {
  const writeHead = res.writeHead;
  res.writeHead = ((...args: Parameters<typeof writeHead>) => {
    const length = res.getHeader(FILE_LENGTH_HEADER);
    if (length !== undefined && !res.headersSent) {
      res.removeHeader(FILE_LENGTH_HEADER);
      res.setHeader("content-length", length);
      res.setHeader("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox");
    }
    return writeHead.apply(res, args);
  }) as typeof writeHead;
}

/** Makes pages uncacheable, whatever the renderer sets, because they show a tenant's data. */
export function neverCachePages(res: ServerResponse): void {
  const writeHead = res.writeHead;
  res.writeHead = ((...args: Parameters<typeof writeHead>) => {
    const type = String(res.getHeader("content-type") ?? "");
    if (/^text\/(?:html|x-component)/.test(type)) res.setHeader("cache-control", "private, no-store");
    return writeHead.apply(res, args);
  }) as typeof writeHead;
}
