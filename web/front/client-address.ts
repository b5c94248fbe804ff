import { BlockList, isIPv4, isIPv6 } from "node:net";
import type { TrustedProxies } from "@/lib/env/trusted-proxies";

/** Returns the client's address from the connection's peer and the `X-Forwarded-For` header. */
export type FindClient = (peer: string | undefined, forwardedFor: string | undefined) => string | null;

/**
 * Returns a function that walks `X-Forwarded-For` from the right, past trusted proxies, to the first address that is
 * not a proxy's. Without a trusted peer the header is ignored. An invalid entry ends the walk at the proxy that wrote
 * it.
 */
export function clientFinder(trusted: TrustedProxies): FindClient {
  const isProxy = proxyTest(trusted);
  return (peer, forwardedFor) => {
    let client = canonicalAddress(peer ?? "");
    if (client === null) return null;
    const entries = forwardedFor === undefined ? [] : forwardedFor.split(",").reverse();
    for (const [hop, entry] of entries.entries()) {
      if (!isProxy(client, hop)) break;
      const before = canonicalAddress(withoutPort(entry.trim()));
      if (before === null) break;
      client = before;
    }
    return client;
  };
}

/**
 * Returns an address in canonical form: IPv4 within IPv6 becomes IPv4, and a zone is dropped. Null if it is not an
 * address.
 */
export function canonicalAddress(text: string): string | null {
  const [bare = ""] = text.split("%");
  if (isIPv4(bare)) return bare;
  if (!isIPv6(bare)) return null;
  const usual = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(usual) ?? [];
  if (high === undefined || low === undefined) return usual;
  const bytes = [high, low].flatMap((half) => [Number.parseInt(half, 16) >> 8, Number.parseInt(half, 16) & 255]);
  return bytes.join(".");
}

function proxyTest(trusted: TrustedProxies): (address: string, hop: number) => boolean {
  if ("hops" in trusted) return (_, hop) => hop < trusted.hops;
  const list = new BlockList();
  for (const { address, prefix, family } of trusted.networks) list.addSubnet(address, prefix, family);
  return (address) => list.check(address, isIPv4(address) ? "ipv4" : "ipv6");
}

// Some proxies append the client's port.
function withoutPort(entry: string): string {
  const [, v6, v4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(entry) ?? [];
  return v6 ?? v4 ?? entry;
}
