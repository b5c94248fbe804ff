import { randomBytes } from "node:crypto";
import path from "node:path";
import { dataDir, removeCluster, startEmbedded } from "../../lib/db/embedded/index.mjs";
import { Unusable } from "./fail.mjs";
import { homeFolder } from "./paths.mjs";
import { step } from "./progress.mjs";
import { isLoopback, readRuntime, updateRuntime } from "./runtime.mjs";
import { givenSecrets } from "./secrets.mjs";

const NAME = "leasehold";
const newSecret = () => randomBytes(32).toString("base64url");

/**
 * @typedef {object} Ground what the processes stand on
 * @property {import("../../lib/db/embedded/index.mjs").EmbeddedServer | null} server null when DATABASE_URL names one
 * @property {boolean} demo
 * @property {Record<string, string>} env without secrets
 * @property {import("./secrets.mjs").Secrets} secrets of the installation, from which those of each process derive
 */

/**
 * The database of this start: the one DATABASE_URL names, or our own server. `newDemo` deletes all data of our own server first.
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
  if (newDemo) await step("deleting the demo's database", () => removeCluster({ home: homeFolder(), pgBin: pgBin() }));
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
  // Before the cluster exists: a start that dies half-way must not leave one whose password nobody knows.
  updateRuntime({ secret, pg_password: password });
  const server = await step("starting PostgreSQL", () =>
    startEmbedded({
      home: homeFolder(),
      password,
      port: runtime.pg_port,
      pgBin: pgBin(),
    }),
  );
  const url = server.adminUrl(NAME);
  const roots = providerRoots();
  // So that the demo also works on a developer's machine without user namespaces (macOS, some distributions).
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

/** The given provider roots, and the one in which the sample folders lie. */
function providerRoots() {
  const samples = path.join(dataDir(homeFolder()), "providers");
  const given = process.env.PROVIDER_ROOTS?.trim();
  return { PROVIDER_ROOTS: given ? `${given}:${samples}` : samples };
}
