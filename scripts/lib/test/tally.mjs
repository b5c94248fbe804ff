import { readText } from "../files.mjs";

/** Counts tests and checks. An error outside of any test counts as one failure. */
export class Tally {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** @type {string[]} */
  failures = [];

  /**
   * @param {string} name
   * @param {boolean} ok
   */
  check(name, ok) {
    if (ok) this.passed++;
    else this.#fail(name);
  }

  /**
   * Adds one run of vitest from its JSON report.
   * @param {string} name
   * @param {string} file
   * @param {number} exitCode
   */
  addReport(name, file, exitCode) {
    const text = readText(file);
    if (text === null) return this.#fail(`${name}: the run gave no report`);
    const before = this.failed;
    for (const suite of JSON.parse(text).testResults) this.#addSuite(suite);
    if (exitCode !== 0 && this.failed === before) this.#fail(`${name}: failed outside of its tests`);
  }

  /** @param {{ name: string, status: string, message?: string, assertionResults: { status: string, fullName: string }[] }} suite */
  #addSuite({ name, status, assertionResults }) {
    const before = this.failed;
    for (const { status: outcome, fullName } of assertionResults) {
      if (outcome === "passed") this.passed++;
      else if (outcome === "failed") this.#fail(`${name}: ${fullName}`);
      else this.skipped++;
    }
    if (status === "failed" && this.failed === before) this.#fail(`${name}: could not run`);
  }

  /** @param {string} what */
  #fail(what) {
    this.failed++;
    this.failures.push(what);
  }
}
