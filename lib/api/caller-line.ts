import { createHash } from "node:crypto";
import { BoundedMap } from "@/lib/async/bounded-map";
import { addressGroup } from "@/lib/auth/address-group";
import type { Principal } from "@/lib/auth/principal";
import { sentSessionId } from "@/lib/auth/session";

/** Owners of credentials that were valid, by the hash of the credentials. */
const known = new BoundedMap<string, string>(10_000);

/**
 * Returns the line in which a request is authenticated. Credentials that were valid before wait in the line of their
 * owner. All others wait in the line of their address, so invalid ones do not delay them.
 */
export function senderLine(headers: Headers, { ip, origin }: { readonly ip: string | null; readonly origin: string }) {
  const sent = headers.get("authorization") ?? "";
  // Only what identifies the credentials: other parts of the headers may differ between requests.
  const credentials = sent.slice(sent.lastIndexOf(" ") + 1) || sentSessionId(headers.get("cookie"), origin);
  const hash = createHash("sha256")
    .update(credentials ?? "")
    .digest("base64");
  return {
    name: known.get(hash) ?? `address ${addressGroup(ip)}`,
    /** Remembers the owner of valid credentials. */
    belongsTo: (principal: Principal) => void known.set(hash, ownerLine(principal)),
  };
}

/** Returns the line of a caller outside a tenant: of a key's tenant, or of the user. */
export const ownerLine = (principal: Principal): string =>
  (principal.kind === "api_key" && principal.key.tenant?.id) || principal.user.id;
