import { randomBytes } from "node:crypto";
import path from "node:path";
import { dataDir, removeCluster, startEmbedded } from "../../lib/db/embedded/index.mjs";
import { Unusable } from "./fail.mjs";
import { homeFolder } from "./paths.mjs";
import { runStep } from "./progress.mjs";
import { isLoopback, readRuntime, updateRuntime } from "./runtime.mjs";
import { givenSecrets } from "./secrets.mjs";

const NAME = "leasehold";
const newSecret = () => randomBytes(32).toString("base64url");

/**
 * @typedef {object} Ground the database and settings that the processes run on
 * @property {import("../../lib/db/embedded/index.mjs").EmbeddedServer | null} server null when DATABASE_URL names one
 * @property {boolean} demo
 * @property {Record<string, string>} env without secrets
 * @property {import("./secrets.mjs").Secrets} secrets of the installation, from which those of each process derive
 */

/**
 * Prepares the database of this start: the one in DATABASE_URL, or our own server. `newDemo` first deletes all data of
 * our own server.
 * @param {{ newDemo: boolean }} options
 * @returns {Promise<Ground>}
 */
export async function prepareDatabase({ newDemo }) {
  const given = givenSecrets().values.DATABASE_URL;
  if (given && newDemo)
    throw new Unusable(
      "--new-demo deletes the demo's own PostgreSQL, and DATABASE_URL names another one. Unset DATABASE_URL, or start without --new-demo.",
    );
  if (given) return foreignDatabase(given);
  if (newDemo)
    await runStep("deleting the demo's database", () => removeCluster({ home: homeFolder(), pgBin: pgBin() }));
  return embeddedDatabase();
}

const pgBin = () => process.env.PG_BIN?.trim() || undefined;

/** @param {string} url */
function foreignDatabase(url) {
  const demo = /^(1|true)$/.test(process.env.LEASEHOLD_DEMO?.trim() ?? "");
  const secrets = installationSecrets(url, givenSecrets().values.LEASEHOLD_SECRET || localSecret(url));
  const env = { LEASEHOLD_DEMO: demo ? "1" : "0" };
  return { server: null, demo, secrets, env: demo ? { ...env, ...providerRoots() } : env };
}

/** @param {string} url */
function localSecret(url) {
  if (!isLoopback(url)) {
    throw new Unusable(
      "LEASEHOLD_SECRET is required with a DATABASE_URL that is not on this machine: sessions, logins of the database and the data key derive from it. Make one with `openssl rand -base64 32` and keep it.",
    );
  }
  const secret = readRuntime().secret ?? newSecret();
  updateRuntime({ secret });
  return secret;
}

async function embeddedDatabase() {
  const runtime = readRuntime();
  const secret = givenSecrets().values.LEASEHOLD_SECRET || runtime.secret || newSecret();
  const password = runtime.pg_password ?? newSecret();
  // Saved before the cluster exists, because an interrupted start must not leave a cluster with a lost password.
  updateRuntime({ secret, pg_password: password });
  const server = await runStep("starting PostgreSQL", () =>
    startEmbedded({
      home: homeFolder(),
      password,
      port: runtime.pg_port,
      pgBin: pgBin(),
    }),
  );
  const url = server.adminUrl(NAME);
  const roots = providerRoots();
  // Lets the demo work on a developer's machine without user namespaces (macOS, some distributions).
  const unsafe = { COMMANDS_UNSAFE_IN_PRODUCTION: process.env.COMMANDS_UNSAFE_IN_PRODUCTION?.trim() || "true" };
  updateRuntime({ pg_port: server.port, admin_url: url, provider_roots: roots.PROVIDER_ROOTS });
  return {
    server,
    demo: true,
    secrets: installationSecrets(url, secret),
    env: { LEASEHOLD_DEMO: "1", ...unsafe, ...roots },
  };
}

/**
 * @param {string} url
 * @param {string} secret
 */
function installationSecrets(url, secret) {
  const given = givenSecrets();
  return { ...given, values: { ...given.values, DATABASE_URL: url, LEASEHOLD_SECRET: secret } };
}

/** Returns the given provider roots, and the one with the sample folders. */
function providerRoots() {
  const samples = path.join(dataDir(homeFolder()), "providers");
  const given = process.env.PROVIDER_ROOTS?.trim();
  return { PROVIDER_ROOTS: given ? `${given}:${samples}` : samples };
}
