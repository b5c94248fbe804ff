import { isIPv4, isIPv6 } from "node:net";
import type { ProblemCode } from "@/lib/contract";

/** The host names that requests may name. */
export interface OwnHosts {
  readonly names: readonly string[];
  /** Accepts any IP address, because another site cannot make a browser name one of this server's addresses. */
  readonly anyAddress: boolean;
}

const LOOPBACK = ["localhost", "127.0.0.1", "::1"];
const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i;

/**
 * Returns the name in a `Host` header, without port, brackets and final dot, in lower case; null if it is not a name.
 */
function hostName(text: string): string | null {
  const [, v6, name] = HOST.exec(text) ?? [];
  if (v6 !== undefined) return isIPv6(v6) ? new URL(`http://[${v6}]`).hostname.slice(1, -1) : null;
  return name?.toLowerCase().replace(/\.$/, "") || null;
}

/**
 * Returns a function that checks a request's `Host` header and returns the problem, or null. The header must occur once
 * and name one of the own hosts or this machine. Otherwise a site whose name resolves to this server could read the
 * answers (DNS rebinding).
 */
export function hostCheck(own: OwnHosts): (rawHeaders: readonly string[]) => ProblemCode | null {
  const names = new Set([...own.names, ...LOOPBACK]);
  return (rawHeaders) => {
    const sent = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === "host");
    const name = hostName(sent[0] ?? "");
    if (sent.length !== 1 || name === null) return "bad-request";
    const isOwn = names.has(name) || (own.anyAddress && (isIPv4(name) || isIPv6(name)));
    return isOwn ? null : "misdirected-request";
  };
}
