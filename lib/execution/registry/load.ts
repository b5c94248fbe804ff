/**
 * The allow-list of commands (jobs/commands.json). Start with `loadCommandRegistry`; schema.ts describes an entry.
 *
 * Only files that no untrusted user can change may run, and they are checked again before each use (trust.ts). Shells
 * and programs that start others are refused (programs.ts), and a value can never act as an option or as code
 * (template.ts). One wrong entry refuses the whole file.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, resolve } from "node:path";
import { z } from "zod";
import { FolderRemover, type OnUnremoved } from "../process/folder-remover";
import { Hider, type OnHidden } from "../process/hider";
import { type HidingPlan, MOST_SHARED } from "../process/hiding";
import {
  describeIsolation,
  detectIsolation,
  exposureOf,
  hasWorkersUser,
  type IsolationOptions,
} from "../process/isolation";
import { halfOfMemory, withinOwnLimits } from "../process/limits";
import { canReach, commandUser, type RunAs } from "../process/run-as";
import type { Isolation } from "../process/supervisor";
import { keepWorkRoot, prepareWorkRoot } from "../process/work-folder";
import { type Placement, placeScripts } from "./placement";
import { Preparation } from "./preparation";
import { refusedProgram, runsFirstArgument } from "./programs";
import type { Command, CommandRegistry } from "./registry";
import { checkRunnable } from "./runnable";
import { type CommandSpec, commandSchema, KEY } from "./schema";
import { parseTemplate, TemplateError } from "./template";
import { type TrustedFile, trustFile, UntrustedFileError } from "./trust";

export interface RegistryOptions {
  /**
   * A folder that the commands' user can enter (as root: `nobody`). It holds the working folders of jobs, and copies of
   * scripts whose originals that user cannot reach.
   */
  readonly sharedFolder: string;
  /** Paths that commands must not see although their user could read them. Default: none. */
  readonly hide?: HidingPlan;
  /** Called when folders of `hide` are found that did not exist, or were elsewhere, when the registry was loaded. */
  readonly onHidden?: OnHidden;
  /** Starts no command if commands could read data of the worker or of other tenants. */
  readonly refuseExposed?: boolean;
  /** Called once for each working folder that could not be removed. */
  readonly onUnremoved?: OnUnremoved;
  /** How commands are isolated, as detected by another process of this installation. Default: detects it. */
  readonly launch?: Isolation;
  /** Overrides the best isolation that the machine allows; for tests. */
  readonly isolation?: IsolationOptions["mode"];
}

/** The registry cannot be used. The message names the file, and the entry if one is wrong. */
export class CommandRegistryError extends Error {
  override readonly name = "CommandRegistryError";
}

/** Processes and threads of one command, unless its entry says otherwise. */
const PROCESSES = 1024;

/**
 * Loads the commands that this worker may run, and checks that only a trusted user could have put them there. One wrong
 * entry refuses the whole file.
 * @throws CommandRegistryError naming the wrong entry
 */
export async function loadCommandRegistry(path: string, options: RegistryOptions): Promise<CommandRegistry> {
  const file = await trusted(resolve(path), "the command registry");
  const text = await readFile(file.path, "utf8");
  const specs = parseSpecs(file.path, text);
  const runAs = commandUser();
  const sharedFolder = resolve(options.sharedFolder);
  const workRoot = join(sharedFolder, "work");
  const remover = new FolderRemover(options.onUnremoved);
  await prepareWorkRoot(workRoot, remover);
  if (!canReach(runAs, workRoot, "-x")) {
    throw new CommandRegistryError(
      `the user ${runAs?.name} cannot enter ${workRoot}; commands need a folder that it can reach`,
    );
  }
  const jobsFolder = dirname(file.path);
  const scripts = specs.flatMap(([key, spec]) => (spec.script === undefined ? [] : [checkedScript(key, spec.script)]));
  const placement = placeScripts({ jobsFolder, scripts, runAs, sharedFolder });
  const { folders = [], files = [], scratch = [], kept = [] } = options.hide ?? {};
  const needed = [...kept, jobsFolder, placement.scriptsRoot, dirname(placement.node)];
  const hide = {
    folders,
    files,
    scratch,
    ...(hasWorkersUser(options.isolation) ? { readOnlyExcept: kept } : {}),
    kept: [...needed, ...specs.flatMap(([, { binary }]) => (binary ? [dirname(binary)] : []))],
  };
  const mode = options.isolation === undefined ? {} : { mode: options.isolation };
  const launch = options.launch ?? (await detectIsolation({ runAs, hide, folder: workRoot, ...mode }));
  const hider = launch.hidden ? new Hider(hide, launch.hidden, options.onHidden) : null;
  const exposure = exposureOf(launch);
  const isRefusing = exposure !== null && options.refuseExposed === true;
  const commands = new Map<string, Command>();
  for (const [key, spec] of specs) commands.set(key, await toCommand({ key, spec }, { jobsFolder, placement, launch }));
  return {
    path: file.path,
    sha256: createHash("sha256").update(text).digest("hex"),
    isolation: describeIsolation(launch) + (isRefusing ? ", commands refused" : ""),
    exposure,
    isRefusing,
    keys: [...commands.keys()],
    commands,
    launch,
    hidden: async () => hider?.look() ?? null,
    workRoot,
    preparation: new Preparation(remover, keepWorkRoot(workRoot, remover)),
  };
}

function parseSpecs(path: string, text: string): [string, CommandSpec][] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new CommandRegistryError(`${path} is not JSON: ${(error as Error).message}`);
  }
  const file = z.record(z.string(), z.unknown()).safeParse(json);
  if (!file.success) throw new CommandRegistryError(`${path} must hold one object of entries by command key`);
  return Object.entries(file.data).map(([key, entry]) => {
    if (!KEY.test(key)) throw new CommandRegistryError(`${path}: ${JSON.stringify(key)} is not a command key`);
    const spec = commandSchema.safeParse(entry);
    if (!spec.success) throw wrong(key, describeIssues(spec.error));
    return [key, spec.data];
  });
}

function describeIssues(error: z.ZodError): string {
  return error.issues.map((issue) => [issue.path.join("."), issue.message].filter(Boolean).join(": ")).join("; ");
}

function wrong(key: string, problem: string): CommandRegistryError {
  return new CommandRegistryError(`command ${key}: ${problem}`);
}

function checkedScript(key: string, script: string): string {
  const path = normalize(script);
  if (isAbsolute(script) || path.startsWith("..") || path !== script.replace(/^\.\//, "")) {
    throw wrong(key, "script must be a plain path below the folder of the registry");
  }
  return path;
}

interface LoadContext {
  readonly jobsFolder: string;
  readonly placement: Placement;
  readonly launch: Isolation;
}

async function toCommand({ key, spec }: { key: string; spec: CommandSpec }, context: LoadContext): Promise<Command> {
  const template = templateOf(key, spec);
  const given = Object.values(spec.placeholders).filter(({ type }) => type === "provider_path").length;
  if (given > MOST_SHARED)
    throw wrong(key, `at most ${MOST_SHARED} placeholders can be a provider_path, and it has ${given}`);
  const limits = withinOwnLimits({
    ...spec.limits,
    processes: spec.limits.processes ?? (isCountedApart(context.launch) ? PROCESSES : undefined),
  });
  const total_memory_mb = spec.limits.total_memory_mb ?? limits.memory_mb ?? halfOfMemory();
  const checked = { key, spec: { ...spec, limits: { ...spec.limits, ...limits, total_memory_mb } }, template };
  if (spec.script !== undefined) return { ...checked, ...(await scriptProgram(key, spec.script, context)) };
  return { ...checked, ...(await binaryProgram(key, spec, context.launch.runAs)) };
}

/** True if the kernel counts the processes of commands separately from the worker's. */
const isCountedApart = ({ runAs, userNamespace, namespace }: Isolation): boolean =>
  runAs !== null || (userNamespace && namespace !== null);

function templateOf(key: string, spec: CommandSpec): Command["template"] {
  try {
    return parseTemplate(spec);
  } catch (error) {
    if (error instanceof TemplateError) throw wrong(key, error.message);
    throw error;
  }
}

async function scriptProgram(
  key: string,
  script: string,
  context: LoadContext,
): Promise<Pick<Command, "program" | "files">> {
  const original = await trusted(join(context.jobsFolder, checkedScript(key, script)), `command ${key}: script`);
  if (!original.path.startsWith(`${context.jobsFolder}/`))
    throw wrong(key, "script leads outside the folder of the registry");
  const copy = join(context.placement.scriptsRoot, checkedScript(key, script));
  const file =
    context.placement.scriptsRoot === context.jobsFolder
      ? original
      : await trusted(copy, `command ${key}: copied script`);
  return { program: [context.placement.node, file.path], files: [file] };
}

async function binaryProgram(
  key: string,
  spec: CommandSpec,
  runAs: RunAs | null,
): Promise<Pick<Command, "program" | "files">> {
  const binary = spec.binary ?? "";
  if (!isAbsolute(binary) || normalize(binary) !== binary)
    throw wrong(key, "binary must be an absolute path without . or .. parts");
  const file = await trusted(binary, `command ${key}: binary`);
  const first = spec.argv[0];
  const refusal = refusedProgram([binary, file.path], first);
  if (refusal) throw wrong(key, refusal);
  if (!canReach(runAs, binary, "-x"))
    throw wrong(key, `${binary} cannot be executed by the user ${runAs?.name ?? "of the worker"}`);
  await refusing(`command ${key}: binary`, checkRunnable(binary, { runAs, path: undefined }));
  const script =
    first && runsFirstArgument([binary, file.path]) ? [await trusted(first, `command ${key}: script`)] : [];
  // Run under the name in the entry, because a program's behaviour can depend on it.
  return { program: [binary], files: [file, ...script] };
}

const trusted = (path: string, what: string): Promise<TrustedFile> => refusing(what, trustFile(path));

async function refusing<T>(what: string, check: Promise<T>): Promise<T> {
  try {
    return await check;
  } catch (error) {
    if (error instanceof UntrustedFileError) throw new CommandRegistryError(`${what}: ${error.message}`);
    throw error;
  }
}
