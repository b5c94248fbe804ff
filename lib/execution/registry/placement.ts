import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { canReach, canRun, type RunAs } from "../process/run-as";

/** Where commands find Node and their scripts. */
export interface Placement {
  readonly node: string;
  /** Replaces the registry's folder; contains what scripts need. */
  readonly scriptsRoot: string;
}

export interface PlacementOptions {
  /** The registry's folder. */
  readonly jobsFolder: string;
  /** Scripts, relative to the registry's folder. */
  readonly scripts: readonly string[];
  readonly runAs: RunAs | null;
  /** A folder that the commands' user can enter. */
  readonly sharedFolder: string;
}

/**
 * Uses Node and scripts in place if the commands' user can reach them. Otherwise (a clone or a Node below /root, a
 * strict umask) copies them to `<sharedFolder>/commands`, owned by root and readable by all. A copy's name is a hash of
 * its content, so a changed script makes a new copy.
 */
export function placeScripts(options: PlacementOptions): Placement {
  const { jobsFolder, scripts, runAs, sharedFolder } = options;
  const commands = join(sharedFolder, "commands");
  const needsNode = scripts.length > 0 && !canRun(runAs, process.execPath, ["--version"]);
  const isReachable = scripts.every((script) => canReach(runAs, join(jobsFolder, script), "-r"));
  return {
    node: needsNode ? placeNode(commands, runAs) : process.execPath,
    scriptsRoot: isReachable ? jobsFolder : copyScripts(jobsFolder, scripts, commands),
  };
}

function placeNode(commands: string, runAs: RunAs | null): string {
  const target = join(commands, `node-${process.version}`);
  makeFolder(commands);
  if (!existsSync(target) || !canRun(runAs, target, ["--version"])) {
    const half = `${target}.${process.pid}`;
    rmSync(half, { force: true });
    copyFileSync(process.execPath, half);
    chmodSync(half, 0o755);
    renameSync(half, target);
  }
  if (!canRun(runAs, target, ["--version"])) {
    throw new Error(
      `Node cannot be run by the user ${runAs?.name ?? "of the worker"}, neither at ${process.execPath} nor at ${target}`,
    );
  }
  return target;
}

// Each script's top-level folder is copied whole, so that a script may import its neighbours.
function copyScripts(jobsFolder: string, scripts: readonly string[], commands: string): string {
  const parts = [...new Set(scripts.map((script) => script.split("/")[0] ?? script))].sort();
  const files = parts.flatMap((part) => filesBelow(join(jobsFolder, part))).sort();
  const hash = createHash("sha256");
  for (const file of files)
    hash
      .update(`${relative(jobsFolder, file)}\0`)
      .update(readFileSync(file))
      .update("\0");
  const target = join(commands, hash.digest("hex").slice(0, 16));
  if (existsSync(target)) return target;
  const half = `${target}.${process.pid}`;
  rmSync(half, { recursive: true, force: true });
  for (const file of files) copyFile(file, join(half, relative(jobsFolder, file)), half);
  makeFolder(commands);
  try {
    renameSync(half, target);
  } catch (error) {
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}

function filesBelow(path: string): string[] {
  const entries = existsSync(path) ? readdirOrNull(path) : [];
  if (entries === null) return [path];
  // Links are skipped, because their targets were not checked.
  return entries
    .filter((entry) => (entry.isDirectory() && entry.name !== "node_modules") || entry.isFile())
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(join(path, entry.name)) : [join(path, entry.name)]));
}

function readdirOrNull(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return null;
  }
}

function copyFile(from: string, to: string, root: string): void {
  makeFolder(join(to, ".."), root);
  copyFileSync(from, to);
  chmodSync(to, 0o644);
}

function makeFolder(folder: string, root: string = folder): void {
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  // Regardless of the umask, all folders from the root of the copy down must be passable.
  for (let at = folder; at.startsWith(root) && basename(at) !== ""; at = join(at, "..")) chmodSync(at, 0o755);
}
