import type { IncomingMessage } from "node:http";
import { CLIENT_IP_HEADER } from "@/lib/api/http/request-info";
import { networkOf } from "@/lib/auth/address-group";
import { type DeviceSettings, lastAccount } from "@/lib/auth/device";
import type { WaitingLine } from "@/lib/turn-lines";

/**
 * Returns the line in which a request waits. A browser that signed in before waits in the line of its account, which
 * goes first; any other request waits in the line of its network. So a flood from a network does not delay its known
 * browsers.
 */
export function lineOf({ headers }: IncomingMessage, settings: DeviceSettings): WaitingLine {
  const account = lastAccount(headers.cookie ?? null, settings);
  if (account !== null) return { name: `account ${account}`, first: true };
  const ip = headers[CLIENT_IP_HEADER];
  return { name: networkOf(typeof ip === "string" ? ip : null) };
}
