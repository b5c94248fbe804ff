import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { sendSecrets } from "../../lib/env/secret-source.mjs";
import { Unusable } from "./fail.mjs";
import { ROOT } from "./paths.mjs";
import { say } from "./progress.mjs";
import { withSecretPipe } from "./secrets.mjs";

const READY_TIMEOUT_MS = 120_000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 60_000;
/** A process that was ready for this long counts as healthy: its next crash counts as the first. */
const HEALTHY_AFTER_MS = 60_000;
/** From this many crashes in a row on, the message includes their number. */
const CRASH_LOOP = 3;
/** Added to the grace period of the processes. */
const STOP_EXTRA_MS = 8000;
const FORCE_MS = 1500;
/** @type {("ignore" | "inherit" | "ipc")[]} */
const STDIO = ["ignore", "inherit", "inherit", "ipc"];

/**
 * @typedef {object} Member
 * @property {string} name
 * @property {string[]} args of node
 * @property {NodeJS.ProcessEnv} env without secrets
 * @property {import("./secrets.mjs").Secrets} secrets exactly those that this process needs
 * @property {boolean} vital its end stops everything; other processes are restarted
 */

/** @typedef {{ port?: number, workerId?: string }} Ready */

/** Keeps a few processes running, and stops them all together. */
export class Supervisor {
  #running = new Map();
  /** Of each member: crashes in a row, and when it was last ready. @type {Map<string, { crashes: number, readyAt: number }>} */
  #health = new Map();
  /** Processes that are being stopped one by one. */
  #leaving = new WeakSet();
  #stopping = false;
  #graceMs;
  #onFatal;

  /** @param {{ graceMs: number, onFatal: (reason: string) => void }} options */
  constructor({ graceMs, onFatal }) {
    this.#graceMs = graceMs;
    this.#onFatal = onFatal;
  }

  /**
   * Starts a process and waits until it reports that it is ready. Rejects with its exit code if it ends first.
   * @param {Member} member
   * @returns {Promise<Ready>}
   */
  start(member) {
    if (this.#stopping) return Promise.reject(new Unusable("stopping"));
    const child = spawn(process.execPath, member.args, {
      cwd: ROOT,
      // A session of its own, so that Ctrl-C reaches it only through us, once, and in order.
      detached: true,
      ...withSecretPipe(member.env, STDIO),
    });
    sendSecrets(child, STDIO.length, member.secrets);
    this.#running.set(member.name, child);
    let ready = false;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        const reason = `${member.name} was not ready after ${READY_TIMEOUT_MS / 1000} s`;
        if (member.vital) return reject(new Unusable(`${reason}.`));
        say(`  ${reason}: ending it`);
        child.kill("SIGKILL");
      }, READY_TIMEOUT_MS);
      child.on("message", (message) => {
        if (message?.type !== "ready") return;
        ready = true;
        clearTimeout(late);
        this.#healthOf(member).readyAt = performance.now();
        resolve(message);
      });
      child.on("error", reject);
      child.on("exit", (code, signal) => {
        clearTimeout(late);
        if (this.#running.get(member.name) === child) this.#running.delete(member.name);
        if (!ready) reject(new StartFailure(member.name, code ?? signal));
        else if (!this.#leaving.has(child)) this.#onExit(member, code ?? signal);
      });
    });
  }

  /**
   * Starts a process that the others can run without. If it cannot start, retries indefinitely.
   * @param {Member} member
   * @returns {Promise<Ready | null>} null when it is not ready yet
   */
  async startWithRetries(member) {
    try {
      return await this.start(member);
    } catch (error) {
      if (this.#stopping) throw error;
      this.#onExit(member, error instanceof StartFailure ? error.how : error.message);
      return null;
    }
  }

  /** @param {Member} member */
  async restart(member) {
    const child = this.#running.get(member.name);
    if (child) this.#leaving.add(child);
    if (child) await endProcess(child, this.#graceMs + STOP_EXTRA_MS);
    if (!this.#stopping) await this.start(member);
  }

  /** Asks all processes to drain, waits, and kills the remaining ones. Resolves when all have exited. */
  async stop() {
    this.#stopping = true;
    await Promise.all([...this.#running.values()].map((child) => endProcess(child, this.#graceMs + STOP_EXTRA_MS)));
  }

  /**
   * Notifies all processes that PostgreSQL has stopped. Nothing can be stored, so a long drain is pointless.
   */
  databaseGone() {
    for (const child of this.#running.values()) {
      if (child.connected) child.send({ type: "database-gone" }, () => undefined);
    }
  }

  /** Stops the processes without a drain, and kills those that do not exit. For a second signal. */
  force() {
    this.#stopping = true;
    for (const child of this.#running.values()) {
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), FORCE_MS).unref();
    }
  }

  /**
   * @param {Member} member
   * @param {number | string} how
   */
  #onExit(member, how) {
    if (this.#stopping || this.#running.has(member.name)) return;
    if (member.vital) return this.#onFatal(`${member.name} ended unexpectedly (${how}).`);
    const health = this.#healthOf(member);
    if (performance.now() - health.readyAt > HEALTHY_AFTER_MS) health.crashes = 0;
    health.crashes += 1;
    health.readyAt = Number.POSITIVE_INFINITY;
    const delay = Math.min(FIRST_DELAY_MS * 2 ** (health.crashes - 1), LONGEST_DELAY_MS);
    const count = health.crashes < CRASH_LOOP ? "" : `, crash ${health.crashes} in a row`;
    say(`  ${member.name} ended (${how}${count}); starting it again in ${delay / 1000} s`);
    setTimeout(() => this.#startAgain(member), delay);
  }

  /** @param {Member} member */
  #healthOf(member) {
    const known = this.#health.get(member.name) ?? { crashes: 0, readyAt: Number.POSITIVE_INFINITY };
    this.#health.set(member.name, known);
    return known;
  }

  /** @param {Member} member */
  async #startAgain(member) {
    if (this.#stopping || this.#running.has(member.name)) return;
    await this.startWithRetries(member).catch(() => undefined);
  }
}

export class StartFailure extends Unusable {
  /**
   * @param {string} name
   * @param {number | string} how
   */
  constructor(name, how) {
    super(`${name} could not start (${how}); see its output above.`);
    this.how = how;
  }
}

/**
 * @param {import("node:child_process").ChildProcess} child
 * @param {number} limitMs
 */
async function endProcess(child, limitMs) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = new AbortController();
  const late = sleep(limitMs, "late", { signal: timer.signal }).catch(() => "ended");
  if ((await Promise.race([gone, late])) === "late") {
    child.kill("SIGKILL");
    await gone;
  }
  timer.abort();
}
