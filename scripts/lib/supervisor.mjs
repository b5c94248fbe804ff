import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { Unusable } from "./fail.mjs";
import { ROOT } from "./paths.mjs";
import { say } from "./progress.mjs";

const READY_TIMEOUT_MS = 120_000;
const CRASH_WINDOW_MS = 60_000;
const CRASHES_TO_GIVE_UP = 5;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 15_000;
/** Beyond the grace the processes give themselves. */
const STOP_EXTRA_MS = 8000;
const FORCE_MS = 1500;

/**
 * @typedef {object} Member
 * @property {string} name
 * @property {string[]} args of node
 * @property {NodeJS.ProcessEnv} env
 * @property {boolean} vital its end ends everything; others are restarted
 */

/** Keeps a few processes running, and takes them all down together. */
export class Supervisor {
  #running = new Map();
  #crashes = [];
  /** Those we asked to leave, one by one. */
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
   * Starts a process and waits until it says that it is ready; rejects with its exit code when it ends before.
   * @param {Member} member
   * @returns {Promise<{ port?: number, workerId?: string }>}
   */
  start(member) {
    if (this.#stopping) return Promise.reject(new Unusable("stopping"));
    const child = spawn(process.execPath, member.args, {
      cwd: ROOT,
      env: member.env,
      // A session of its own: Ctrl-C reaches it through us alone, once, and in order.
      detached: true,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#running.set(member.name, child);
    let ready = false;
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Unusable(`${member.name} was not ready after ${READY_TIMEOUT_MS / 1000} s.`)),
        READY_TIMEOUT_MS,
      );
      child.on("message", (message) => {
        if (message?.type !== "ready") return;
        ready = true;
        clearTimeout(late);
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

  /** @param {Member} member */
  async restart(member) {
    const child = this.#running.get(member.name);
    if (child) this.#leaving.add(child);
    if (child) await endProcess(child, this.#graceMs + STOP_EXTRA_MS);
    if (!this.#stopping) await this.start(member);
  }

  /** Asks all to drain, waits, and kills what is left. Returns when none lives. */
  async stop() {
    this.#stopping = true;
    await Promise.all([...this.#running.values()].map((child) => endProcess(child, this.#graceMs + STOP_EXTRA_MS)));
  }

  /** A second wish: the processes leave without finishing, and what does not is killed. */
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
    const now = Date.now();
    this.#crashes = [...this.#crashes.filter((at) => now - at < CRASH_WINDOW_MS), now];
    if (this.#crashes.length >= CRASHES_TO_GIVE_UP) {
      return this.#onFatal(`${member.name} ended (${how}), and it was the fifth end within a minute.`);
    }
    const delay = Math.min(FIRST_DELAY_MS * 2 ** (this.#crashes.length - 1), LONGEST_DELAY_MS);
    say(`  ${member.name} ended (${how}); starting it again in ${delay / 1000} s`);
    setTimeout(() => this.#startAgain(member), delay);
  }

  /** @param {Member} member */
  async #startAgain(member) {
    if (this.#stopping || this.#running.has(member.name)) return;
    try {
      await this.start(member);
    } catch (error) {
      if (error instanceof StartFailure) this.#onExit(member, error.how);
      else if (!this.#stopping) this.#onFatal(`${member.name}: ${error.message}`);
    }
  }
}

export class StartFailure extends Unusable {
  /**
   * @param {string} name
   * @param {number | string} how
   */
  constructor(name, how) {
    super(`${name} could not start (${how}); its own words are above.`);
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
