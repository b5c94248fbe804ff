import type { IncomingMessage } from "node:http";
import { CLIENT_IP_HEADER } from "@/lib/api/request-info";
import { Slots } from "@/lib/api/slots";
import { networkOf } from "@/lib/auth/address-group";
import { type DeviceSettings, lastAccount } from "@/lib/auth/device";

const SIGN_IN_PATH = "/api/auth/callback/";
const IN_PROGRESS = 30;
/** Of all browsers that are not known together, so that a flood from many networks leaves room for known ones. */
const STRANGERS_IN_PROGRESS = 120;

/** How one sign-in too many is answered. */
export const TOO_MANY_SIGN_INS = {
  code: "too-many-requests",
  detail: "Too many sign-ins at once. Try again in a few seconds.",
  headers: { "retry-after": "2" },
} as const;

/**
 * Bounds the sign-ins that a network, or the known browsers of an account, have in progress. Each takes some queries and a
 * check of a password, and without a bound the flood of one network would use up the connections of all. Sign-ins are
 * counted before the framework sees them, because a refusal has to cost much less than an attempt.
 */
export class SignInSlots {
  readonly #slots = new Slots(IN_PROGRESS);
  readonly #strangers = new Slots(STRANGERS_IN_PROGRESS);

  /**
   * Takes the slot of a sign-in. Returns the function that gives it back, which does nothing for other requests, or null if
   * none is left. Call it when the attempt has ended, not when its client has gone: the work goes on without a client.
   */
  take(req: IncomingMessage, path: string, settings: DeviceSettings): (() => void) | null {
    if (req.method !== "POST" || !decodeURIComponent(path).startsWith(SIGN_IN_PATH)) return () => {};
    const account = lastAccount(req.headers.cookie ?? null, settings);
    if (account !== null) return this.#slots.take(`account ${account}`);
    const ip = req.headers[CLIENT_IP_HEADER];
    const network = networkOf(typeof ip === "string" ? ip : null);
    const [ofNetwork, ofAll] = [this.#slots.take(network), this.#strangers.take("all")];
    const giveBack = () => {
      ofNetwork?.();
      ofAll?.();
    };
    if (ofNetwork && ofAll) return giveBack;
    giveBack();
    return null;
  }
}
