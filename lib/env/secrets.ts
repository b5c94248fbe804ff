import { hkdfSync } from "node:crypto";
import { EnvironmentError } from "./read";

const KEY_BYTES = 32;

/** The value of `name`, else a key derived from the one secret; an error that names both when neither is set. */
export function derivedSecret(name: string, own: string | undefined, secret: string | undefined): string {
  if (own) return own;
  if (!secret) throw new EnvironmentError([`LEASEHOLD_SECRET is required (or ${name})`]);
  return Buffer.from(hkdfSync("sha256", secret, "", `leasehold/${name}`, KEY_BYTES)).toString("base64url");
}
