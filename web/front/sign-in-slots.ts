import type { IncomingMessage } from "node:http";
import { CountedSlots } from "@/lib/async/slots";
import type { DeviceSettings } from "@/lib/auth/device";
import { lineOf } from "./line-of";
import type { HttpRefusal } from "./refuse";
import { wholeBody } from "./whole-body";

const SIGN_IN_PATH = "/api/auth/callback/";
const IN_PROGRESS = 30;
/** Limit for all unknown browsers together, so that a flood from many networks leaves room for known ones. */
const STRANGERS_IN_PROGRESS = 120;

/** Shorter than the route's own time limit, so that a slow client gets this refusal. */
const BODY_WITHIN_MS = 3500;

/** Largest body of a sign-in, in bytes; see {@link wholeBody}. */
export const SIGN_IN_BODY_BYTES = 16 * 1024;

/** Returns true if a request is a sign-in, however its path is encoded. */
export const isSignIn = ({ method }: IncomingMessage, path: string): boolean =>
  method === "POST" && decodeURIComponent(path).startsWith(SIGN_IN_PATH);

/** The answer to a refused sign-in. */
type SignInRefusal = Pick<HttpRefusal, "code" | "detail" | "headers">;

const TOO_MANY: SignInRefusal = {
  code: "too-many-requests",
  detail: "Too many sign-ins at once. Try again in a few seconds.",
  headers: { "retry-after": "2" },
};
const TOO_SLOW: SignInRefusal = { code: "body-too-slow", headers: { connection: "close" } };

/**
 * Limits the sign-ins in progress per network, and per account of known browsers. Each takes some queries and a
 * password check, so a flood from one network would otherwise use up the connections of all. Sign-ins are counted
 * before the framework sees them, because a refusal has to cost much less than an attempt.
 */
export class SignInSlots {
  readonly #slots = new CountedSlots(IN_PROGRESS);
  readonly #strangers = new CountedSlots(STRANGERS_IN_PROGRESS);

  /**
   * Waits for the body and then takes a slot, so that half a request takes none. Resolves with the function that
   * returns the slot, with a refusal, or with null if the client has gone. Return the slot when the attempt has ended,
   * not when its client has gone: the work goes on without a client.
   */
  async admit(req: IncomingMessage, settings: DeviceSettings): Promise<(() => void) | SignInRefusal | null> {
    const arrival = await wholeBody(req, BODY_WITHIN_MS);
    if (arrival === "gone") return null;
    return arrival === "late" ? TOO_SLOW : (this.#take(req, settings) ?? TOO_MANY);
  }

  #take(req: IncomingMessage, settings: DeviceSettings): (() => void) | null {
    const { name, first } = lineOf(req, settings);
    if (first) return this.#slots.take(name);
    const [ofNetwork, ofAll] = [this.#slots.take(name), this.#strangers.take("all")];
    const giveBack = () => {
      ofNetwork?.();
      ofAll?.();
    };
    if (ofNetwork && ofAll) return giveBack;
    giveBack();
    return null;
  }
}
