import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { isPublicAddress } from "./addresses";
import type { WebhookPolicy } from "./policy";
import { isRefusal, notPublic, readTarget, type TargetRefusal, type WebhookTarget } from "./target";

const QUERY_MS = 1000;
const TRIES = 2;

export interface Address {
  readonly address: string;
  readonly family: 4 | 6;
}

/**
 * Returns a target's addresses, all of them public. A name with one address that is not public is refused, as is a name
 * that cannot be resolved. Queries name servers directly, because the system's resolver would block a thread of the
 * process for each silent server.
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
  return addresses.every(({ address }) => isPublicAddress(address)) ? addresses : notPublic();
}

/** Checks if webhooks may go to a URL, when it is saved. Returns null if they may. */
export async function checkTarget(text: string, policy: WebhookPolicy): Promise<TargetRefusal | null> {
  const target = readTarget(text, policy);
  if (isRefusal(target)) return target;
  const resolved = await resolveTarget(target, policy);
  return "code" in resolved ? resolved : null;
}

async function lookUp(host: string, { nameServers }: WebhookPolicy): Promise<Address[] | TargetRefusal> {
  const resolver = new Resolver({ timeout: QUERY_MS, tries: TRIES });
  if (nameServers) resolver.setServers(nameServers);
  const deadline = setTimeout(() => resolver.cancel(), QUERY_MS * (TRIES + 1));
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = [
      ...(v4.status === "fulfilled" ? v4.value : []).map((address) => ({ address, family: 4 as const })),
      ...(v6.status === "fulfilled" ? v6.value : []).map((address) => ({ address, family: 6 as const })),
    ];
    if (found.length > 0) return found;
    const reasons = [v4, v6].flatMap((answer) => (answer.status === "rejected" ? [codeOf(answer.reason)] : []));
    return { code: "dns", detail: `the host name cannot be resolved (${reasons[0] ?? "no addresses"})` };
  } finally {
    clearTimeout(deadline);
  }
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException).code ?? "failed");
