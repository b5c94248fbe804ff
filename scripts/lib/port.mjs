import net from "node:net";
import { freePort } from "../../lib/db/embedded/index.mjs";
import { Unusable } from "./fail.mjs";

const DEFAULT_PORT = 3000;
const NEIGHBOURS = 10;

/**
 * Returns the port for the pages: PORT when set, else 3000 or the next free one.
 * @throws Unusable when PORT is taken
 * @param {string} host
 */
export async function choosePort(host) {
  const given = process.env.PORT?.trim();
  if (given && Number(given) !== 0) {
    if (await isFree(Number(given), host)) return Number(given);
    throw new Unusable(`Port ${given} is taken. Set PORT to another one, or leave it unset to have a free one chosen.`);
  }
  if (given) return freePort();
  for (let port = DEFAULT_PORT; port < DEFAULT_PORT + NEIGHBOURS; port++) {
    if (await isFree(port, host)) return port;
  }
  return freePort();
}

/**
 * @param {number} port
 * @param {string} host
 * @returns {Promise<boolean>}
 */
function isFree(port, host) {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once("error", () => resolve(false));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}
