import { isIP } from "node:net";
import { isPublicAddress } from "./addresses";
import type { WebhookPolicy } from "./policy";

const HTTPS_PORTS = [443, 8443];
const HTTP_PORTS = [80, 8080];
const DEFAULT_PORTS: Readonly<Record<string, number>> = { "https:": 443, "http:": 80 };
/** Names that never belong to the public internet, whatever a name server answers. */
const PRIVATE_NAME = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa|corp|home)$/;

/** The target of a webhook, read from its URL. */
export interface WebhookTarget {
  readonly url: URL;
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  /** True for one of the installation's exceptions on this machine. */
  readonly isLoopback: boolean;
}

/** Why an address is refused. `dns`: it cannot be resolved; `blocked`: it may not be reached. */
export interface TargetRefusal {
  readonly code: "url" | "scheme" | "port" | "credentials" | "blocked" | "dns";
  readonly detail: string;
}

export const isRefusal = (value: WebhookTarget | TargetRefusal): value is TargetRefusal => "code" in value;

/**
 * Reads an endpoint's URL and refuses what can be refused without a name server. Literal addresses are compared in the
 * one canonical form that URL gives them, so other spellings do not get past.
 */
export function readTarget(text: string, policy: WebhookPolicy): WebhookTarget | TargetRefusal {
  if (!URL.canParse(text) || /[\s\p{Cc}]/u.test(text)) return { code: "url", detail: "is not a valid URL" };
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return { code: "credentials", detail: "must not hold credentials" };
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return { code: "scheme", detail: "must begin with https:" };
  if (url.hash !== "") return { code: "url", detail: "must not have a fragment" };
  const port = Number(url.port) || (DEFAULT_PORTS[url.protocol] ?? 0);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isLoopback = policy.loopback.includes(`${host}:${port}`) || policy.loopback.includes(`${host}:*`);
  if (isLoopback) return { url, host, port, isLoopback };
  return refusalOf({ url, host, port }, policy) ?? { url, host, port, isLoopback };
}

function refusalOf(
  { url, host, port }: Omit<WebhookTarget, "isLoopback">,
  { allowHttp }: WebhookPolicy,
): TargetRefusal | null {
  const isHttps = url.protocol === "https:";
  if (!isHttps && !allowHttp) return { code: "scheme", detail: "must begin with https:" };
  const ports = isHttps ? HTTPS_PORTS : HTTP_PORTS;
  if (!ports.includes(port)) return { code: "port", detail: `must use port ${ports.join(" or ")}` };
  if (isIP(host) !== 0) return isPublicAddress(host) ? null : notPublic();
  const isName = host.includes(".") && !host.endsWith(".") && !PRIVATE_NAME.test(host);
  return isName ? null : notPublic();
}

export const notPublic = (): TargetRefusal => ({
  code: "blocked",
  detail: "must be an address of the public internet",
});
