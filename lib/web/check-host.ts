import { isIPv4, isIPv6 } from "node:net";
import type { ProblemCode } from "@/lib/contract";

/** The host names that requests may name. */
export interface OwnHosts {
  readonly names: readonly string[];
  /** Also any IP address: no other site can make a browser send one of ours. */
  readonly anyAddress: boolean;
}

const LOOPBACK = ["localhost", "127.0.0.1", "::1"];
const HOST = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i;

/** The name in a `Host` header or a setting, without port and brackets, in lower case; null if it is none. */
function hostName(text: string): string | null {
  const [, v6, name] = HOST.exec(text) ?? [];
  if (v6 !== undefined) return isIPv6(v6) ? new URL(`http://[${v6}]`).hostname.slice(1, -1) : null;
  return name?.toLowerCase().replace(/\.$/, "") || null;
}

/**
 * Returns a function that says what is wrong with the `Host` of a request, or null. It has to be there once and name one
 * of our hosts or this machine, because a site that lets its own name point here (DNS rebinding) reads the answers.
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
