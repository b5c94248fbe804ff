import { createHash, createHmac, hkdfSync, pbkdf2Sync, randomBytes } from "node:crypto";
import type { ApplicationRole, DatabaseRole } from "../types";

export type LoginRole = ApplicationRole | "migrator";

const PASSWORD_BYTES = 24;
const SCRAM_ITERATIONS = 4096;

/** The name of a role on the server. */
export function roleName(role: LoginRole | "owner"): string {
  return `leasehold_${role}`;
}

/** The password of a role: derived, so that every process that holds the secret finds it and none is stored. */
export function rolePassword(secret: string, role: LoginRole): string {
  const key = hkdfSync("sha256", secret, "", `leasehold/database-role/${role}`, PASSWORD_BYTES);
  return Buffer.from(key).toString("base64url");
}

/** The admin's URL with the login of another role; host, port, database and options stay. */
export function roleUrl(adminUrl: string, secret: string, role: DatabaseRole): string {
  if (role === "admin") return adminUrl;
  const url = new URL(adminUrl);
  if (url.hostname === "") {
    // A URL without a host (a socket folder in ?host=) cannot hold a login in its authority part.
    url.searchParams.set("user", roleName(role));
    url.searchParams.set("password", rolePassword(secret, role));
    return url.toString();
  }
  url.searchParams.delete("user");
  url.searchParams.delete("password");
  url.username = roleName(role);
  url.password = rolePassword(secret, role);
  return url.toString();
}

/** What the server stores of a password. Sent instead of it, so that no statement log ever shows one. */
export function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, "sha256");
  const hmac = (text: string) => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(hmac("Client Key")).digest("base64");
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString("base64")}$${storedKey}:${hmac("Server Key").toString("base64")}`;
}
