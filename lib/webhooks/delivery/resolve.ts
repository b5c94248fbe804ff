import { Resolver } from "node:dns";
import { isIP } from "node:net";
import { isPublicAddress } from "./addresses";
import { ANSWER_BYTES, queryAddresses } from "./dns-query";
import type { WebhookPolicy } from "./policy";
import { isRefusal, notPublic, readTarget, type TargetRefusal, type WebhookTarget } from "./target";

/** Addresses of a family that a connection tries, one after the other. */
const MOST_TRIED = 4;

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Returns up to four addresses of each family of a target. A name with one address that is not public is refused, as is
 * a name that cannot be resolved. Queries name servers directly, because the system's resolver would block a thread of
 * the process for each silent server.
 */
export async function resolveTarget(
  target: WebhookTarget,
  policy: WebhookPolicy,
): Promise<readonly Address[] | TargetRefusal> {
  const { host, isLoopback } = target;
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family: family === 6 ? 6 : 4 }];
  if (isLoopback) return [{ address: "127.0.0.1", family: 4 }];
  const addresses = await lookUp(host, policy);
  if ("code" in addresses) return addresses;
  if (!addresses.every(({ address }) => isPublicAddress(address))) return notPublic();
  return [4, 6].flatMap((of) => addresses.filter((one) => one.family === of).slice(0, MOST_TRIED));
}

/** Checks if webhooks may go to a URL, when it is saved. Returns null if they may. */
export async function checkTarget(text: string, policy: WebhookPolicy): Promise<TargetRefusal | null> {
  const target = readTarget(text, policy);
  if (isRefusal(target)) return target;
  const resolved = await resolveTarget(target, policy);
  return "code" in resolved ? resolved : null;
}

async function lookUp(host: string, { nameServers }: WebhookPolicy): Promise<Address[] | TargetRefusal> {
  const servers = nameServers ?? new Resolver().getServers();
  const [v4, v6] = await Promise.all([queryAddresses(host, 4, servers), queryAddresses(host, 6, servers)]);
  if (v4.error === "ETOOLONG" || v6.error === "ETOOLONG") {
    return {
      code: "dns",
      detail: `the host name has more addresses than a DNS answer of ${ANSWER_BYTES} bytes can hold`,
    };
  }
  const found = [
    ...v4.addresses.map((address) => ({ address, family: 4 as const })),
    ...v6.addresses.map((address) => ({ address, family: 6 as const })),
  ];
  if (found.length > 0) return found;
  return { code: "dns", detail: `the host name cannot be resolved (${v4.error ?? v6.error})` };
}
