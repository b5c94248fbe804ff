// Built-ins only, because `npm start` uses this file before packages are installed.

/** Addresses that mean "every interface", each with a loopback address that reaches such a listener. */
const ANY = new Map([
  ["", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
]);

/**
 * Returns the origin at which a listener on this host and port answers on this machine. IPv6 addresses get brackets.
 * @param {string} host
 * @param {number} port
 * @returns {string}
 */
export function localOrigin(host, port) {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  const name = ANY.get(bare) ?? (bare.includes(":") ? `[${bare}]` : bare);
  return new URL(`http://${name}:${port}`).origin;
}
