// Built-ins only, because scripts use this file before packages are installed.
import { hkdfSync } from "node:crypto";

/** @typedef {import("../types").ApplicationRole} ApplicationRole */

const PASSWORD_BYTES = 24;

/**
 * Returns the name of a role on the server.
 * @param {ApplicationRole | "migrator" | "owner"} role
 */
export function roleName(role) {
  return `leasehold_${role}`;
}

/**
 * Returns a role's default password. It derives from the secret of the installation, so it is stored nowhere. The roles
 * `owner` and `migrator` have no password.
 * @param {string} secret
 * @param {ApplicationRole} role
 * @returns {string}
 */
export function rolePassword(secret, role) {
  const key = hkdfSync("sha256", secret, "", `leasehold/database-role/${role}`, PASSWORD_BYTES);
  return Buffer.from(key).toString("base64url");
}

/**
 * Returns the admin's URL with the login of another role; host, port, database and options are kept.
 * @param {string} adminUrl
 * @param {string} secret
 * @param {ApplicationRole | "admin"} role
 * @returns {string}
 */
export function roleUrl(adminUrl, secret, role) {
  if (role === "admin") return adminUrl;
  return withLogin(adminUrl, { user: roleName(role), password: rolePassword(secret, role) });
}

/**
 * Returns the URL of the same server with another login.
 * @param {string} serverUrl
 * @param {{ user: string, password: string }} login
 * @returns {string}
 */
export function withLogin(serverUrl, { user, password }) {
  const url = new URL(serverUrl);
  // A URL without a host (a socket folder in ?host=) cannot hold a login in its authority part.
  if (url.hostname === "") {
    url.searchParams.set("user", user);
    url.searchParams.set("password", password);
    return url.toString();
  }
  url.searchParams.delete("user");
  url.searchParams.delete("password");
  url.username = encodeURIComponent(user);
  url.password = encodeURIComponent(password);
  return url.toString();
}

/**
 * Returns the decoded login of a URL.
 * @param {string} text
 * @returns {{ user: string, password: string }}
 */
export function loginOf(text) {
  const url = new URL(text);
  return {
    user: url.searchParams.get("user") ?? decodeURIComponent(url.username),
    password: url.searchParams.get("password") ?? decodeURIComponent(url.password),
  };
}
