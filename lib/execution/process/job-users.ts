import type { RunAs } from "./run-as";
import type { Isolation } from "./supervisor";

/** Far above what systems give to people, services, containers and dynamic users. */
const LOWEST_UID = 1_000_000_000;
const WORKERS = 100_000;
const MOST_OF_ONE = 4096;

/**
 * Who commands run as. Where each has a user id of its own, the kernel counts its processes apart from those of all others,
 * and no other command can signal it or read its files. No two living workers of a machine share ids.
 */
export class JobUsers {
  readonly #first: number;
  readonly #taken = new Set<number>();

  constructor(
    private readonly isolation: Pick<Isolation, "runAs" | "ownUsers">,
    pid = process.pid,
  ) {
    this.#first = LOWEST_UID + (pid % WORKERS) * MOST_OF_ONE;
  }

  /** The user of a command that begins; null: the worker's own. Given back with `release`. */
  take(): RunAs | null {
    const { runAs, ownUsers } = this.isolation;
    if (!runAs || !ownUsers) return runAs;
    let uid = this.#first;
    while (this.#taken.has(uid)) uid += 1;
    this.#taken.add(uid);
    return { uid, gid: runAs.gid, name: String(uid) };
  }

  /** Once no process of the command is left. */
  release(user: RunAs | null): void {
    if (user) this.#taken.delete(user.uid);
  }
}
