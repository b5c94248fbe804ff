import type { Hidden } from "../process/hiding";
import type { Isolation } from "../process/supervisor";
import type { Preparation } from "./preparation";
import type { CommandSpec } from "./schema";
import type { CommandTemplate } from "./template";
import type { TrustedFile } from "./trust";

/** One command that this worker may run. */
export interface Command {
  readonly key: string;
  readonly spec: CommandSpec;
  readonly template: CommandTemplate;
  /** The words before the arguments: the binary, or Node and the script. */
  readonly program: readonly string[];
  /** The files that are run; checked again before each use. */
  readonly files: readonly TrustedFile[];
}

/** The commands that this worker may run, and how. Loaded once when the worker starts. */
export interface CommandRegistry {
  readonly path: string;
  /** Hash of the registry file, in hex; for the worker's banner. */
  readonly sha256: string;
  /** Such as `pid-namespace, user per tenant, no-new-privs, limits`. */
  readonly isolation: string;
  readonly keys: readonly string[];
  readonly commands: ReadonlyMap<string, Command>;
  readonly launch: Isolation;
  /** Returns what to hide from a command that starts now; null if nothing can be hidden. @throws JobError */
  readonly hidden: () => Promise<Hidden | null>;
  /** What commands could read or change of the worker, and of other tenants, on this machine; null if nothing. */
  readonly exposure: string | null;
  /** True if this worker starts no commands because of that. */
  readonly isRefusing: boolean;
  /** The folder that contains the jobs' working folders. */
  readonly workRoot: string;
  readonly preparation: Preparation;
}
