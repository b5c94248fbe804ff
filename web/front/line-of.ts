import type { IncomingMessage } from "node:http";
import { CLIENT_IP_HEADER } from "@/lib/api/http/request-info";
import { networkOf } from "@/lib/auth/address-group";
import { type DeviceSettings, lastAccount } from "@/lib/auth/device";
import type { Line } from "@/lib/turn-lines";

/**
 * Returns the line in which a request waits: that of its network, or that of its account, which goes first, if the browser
 * signed in before. So the flood of a network does not delay the known browsers in it.
 */
export function lineOf({ headers }: IncomingMessage, settings: DeviceSettings): Line {
  const account = lastAccount(headers.cookie ?? null, settings);
  if (account !== null) return { name: `account ${account}`, first: true };
  const ip = headers[CLIENT_IP_HEADER];
  return { name: networkOf(typeof ip === "string" ? ip : null) };
}
