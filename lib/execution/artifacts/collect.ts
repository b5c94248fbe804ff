import { constants, type Dirent, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir } from "node:fs/promises";
import { join } from "node:path";
import { normalizeRelative } from "../paths";
import type { RunContext } from "../types";
import { type AttemptArtifacts, writeAll } from "./attempt-artifacts";
import { nameProblem } from "./names";

/** The folder, in a command's working folder, whose files are kept. */
const FOLDER = "artifacts";
const MOST_ENTRIES = 1000;
const MOST_DEPTH = 16;

/** A file that a command named on fd 3. */
export interface NamedFile {
  readonly name: string;
  /** In the working folder. */
  readonly path: string;
  readonly contentType?: string;
  /** Why it cannot be kept, if what is said of it is enough to know that. */
  readonly problem?: string;
}

export interface Collection {
  /** The working folder of a command; no process of the command is left. */
  readonly folder: string;
  readonly named: readonly NamedFile[];
  readonly artifacts: AttemptArtifacts;
  readonly ctx: Pick<RunContext, "onLog">;
  /** Throws when the attempt has to stop. */
  check(): void;
}

/** A file that is not kept, and the error that says why. */
export interface Unkept {
  readonly name: string;
  readonly error: unknown;
}

/** Whether a command left files to be kept. */
export async function hasFiles(folder: string, named: readonly NamedFile[]): Promise<boolean> {
  if (named.length > 0) return true;
  const some = await entriesOf(join(folder, FOLDER), 1).catch(() => []);
  return some.length > 0;
}

/**
 * Keeps the files that a command named, and those of its folder `artifacts/`. Links are not followed. Entries of the
 * folder that are no regular files are reported in the log; everything else that is not kept is answered.
 */
export async function collectFiles(collection: Collection): Promise<Unkept[]> {
  const { named, ctx } = collection;
  const found = await filesOf(collection);
  for (const entry of found.special) ctx.onLog("warn", `artifacts/${entry} is not kept: it is no regular file`);
  const taken = new Set(named.map(({ path }) => plain(path)));
  const files = [...named, ...found.files.filter(({ path }) => !taken.has(path))];
  const unkept: Unkept[] = found.isCut ? [{ name: FOLDER, error: new Error(`more than ${MOST_ENTRIES} entries`) }] : [];
  for (const file of files) {
    await keep(collection, file).catch((error: unknown) => unkept.push({ name: file.name, error }));
    collection.check();
  }
  return unkept;
}

async function keep({ folder, artifacts, check }: Collection, file: NamedFile): Promise<void> {
  const problem = file.problem ?? nameProblem(file.name);
  if (problem) throw new Error(problem);
  const handle = await openFile(folder, file.path);
  try {
    const { contentType } = file;
    const writer = artifacts.open(file.name, contentType === undefined ? {} : { contentType }, check);
    await writeAll(writer, handle.createReadStream({ highWaterMark: 256 * 1024, autoClose: false }));
  } finally {
    await handle.close();
  }
}

/** Opens a regular file below the folder through folders only, never through a link. */
async function openFile(folder: string, path: string): Promise<FileHandle> {
  const parts = normalizeRelative(path).split("/");
  let at = folder;
  for (const part of parts.slice(0, -1)) {
    at = join(at, part);
    if (!(await look(at)).isDirectory()) throw new Error("its path leads through something that is no folder");
  }
  at = join(at, parts.at(-1) ?? "");
  if (!isPlainFile(await look(at))) throw new Error("it is no regular file");
  const handle = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(unreadable);
  if (isPlainFile(await handle.stat())) return handle;
  await handle.close();
  throw new Error("it is no regular file");
}

// A file with a second name may belong to another user: the command could link it without being able to read it.
const isPlainFile = (info: Stats): boolean => info.isFile() && info.nlink === 1;

const look = (path: string): Promise<Stats> => lstat(path).catch(unreadable);

function unreadable(error: NodeJS.ErrnoException): never {
  throw new Error(error.code === "ENOENT" ? "there is no such file" : `it cannot be read (${error.code})`);
}

interface Found {
  readonly files: NamedFile[];
  readonly special: string[];
  /** Entries that were looked at, folders among them. */
  entries: number;
  isCut: boolean;
}

async function filesOf({ folder, check }: Collection): Promise<Found> {
  const found: Found = { files: [], special: [], entries: 0, isCut: false };
  const root = await lstat(join(folder, FOLDER)).catch(() => null);
  if (root?.isDirectory()) await walk(join(folder, FOLDER), "", { found, check });
  else if (root) found.special.push("");
  return found;
}

/** The first entries of a folder, by name. Reads no more than `most`, because a command may leave millions. */
export async function entriesOf(folder: string, most: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder)) {
    entries.push(entry);
    if (entries.length >= most) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function walk(
  folder: string,
  below: string,
  { found, check }: { readonly found: Found } & Pick<Collection, "check">,
): Promise<void> {
  check();
  const entries = await entriesOf(folder, MOST_ENTRIES + 1).catch(() => null);
  if (!entries || below.split("/").length > MOST_DEPTH) {
    found.special.push(below);
    return;
  }
  for (const entry of entries) {
    if (found.entries >= MOST_ENTRIES) {
      found.isCut = true;
      return;
    }
    found.entries += 1;
    const name = below + entry.name;
    if (entry.isDirectory()) await walk(join(folder, entry.name), `${name}/`, { found, check });
    else if (entry.isFile()) found.files.push({ name, path: `${FOLDER}/${name}` });
    else found.special.push(name);
  }
}

function plain(path: string): string {
  try {
    return normalizeRelative(path);
  } catch {
    return path;
  }
}
