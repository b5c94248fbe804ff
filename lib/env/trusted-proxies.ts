import { isIPv4, isIPv6 } from "node:net";
import { z } from "zod";

/** A network of proxies: an address and the length of its prefix in bits. */
interface Network {
  readonly address: string;
  readonly prefix: number;
  readonly family: "ipv4" | "ipv6";
}

/**
 * Proxies whose `X-Forwarded-For` is trusted: a number of proxies in front of web, or all proxies in these networks.
 */
export type TrustedProxies = { readonly hops: number } | { readonly networks: readonly Network[] };

const HOPS_MAX = 10;
const RULE = `must be a number of proxies from 0 to ${HOPS_MAX}, or addresses and networks such as 10.0.0.0/8,fd00::/8`;

/** `TRUSTED_PROXIES`: a number of proxies, or a list of addresses and CIDR networks. None when not set. */
export const trustedProxies = z
  .string()
  .default("0")
  .transform((text, context): TrustedProxies => {
    if (/^\d{1,2}$/.test(text) && Number(text) <= HOPS_MAX) return { hops: Number(text) };
    const networks = text.split(",").map((part) => networkOf(part.trim()));
    if (networks.every((network) => network !== null)) return { networks };
    context.addIssue({ code: "custom", message: RULE });
    return z.NEVER;
  });

function networkOf(text: string): Network | null {
  const [address = "", bits, ...rest] = text.split("/");
  const family = isIPv4(address) ? "ipv4" : isIPv6(address) && !address.includes("%") ? "ipv6" : null;
  if (family === null || rest.length > 0) return null;
  const most = family === "ipv4" ? 32 : 128;
  const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN;
  return prefix >= 0 && prefix <= most ? { address, prefix, family } : null;
}
