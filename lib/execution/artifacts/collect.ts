import { constants, type Dirent, type Stats } from "node:fs";
import { type FileHandle, lstat, open, opendir, realpath } from "node:fs/promises";
import { entryPath, type OpenFolder, openBelow, openFolder, PathRefusedError } from "@/lib/files/open-folder";
import { normalizeRelative } from "../paths";
import type { RunContext } from "../types";
import { type AttemptArtifacts, writeArtifact } from "./attempt-artifacts";
import { nameProblem } from "./names";

/** The folder in a command's working folder whose files are kept. */
const FOLDER = "artifacts";
const MOST_ENTRIES = 1000;
const MOST_DEPTH = 16;

/** A file that a command named on fd 3. */
export interface NamedFile {
  readonly name: string;
  /** Relative to the working folder. */
  readonly path: string;
  readonly contentType?: string;
  /** Why the file cannot be kept, if its frame already shows that. */
  readonly problem?: string;
}

export interface Collection {
  /** The working folder of a command that has no process left. */
  readonly folder: string;
  readonly named: readonly NamedFile[];
  readonly artifacts: AttemptArtifacts;
  readonly ctx: Pick<RunContext, "onLog">;
  /** Throws when the attempt has to stop. */
  check(): void;
}

/** A file that is not kept, and the reason. */
export interface Unkept {
  readonly name: string;
  readonly error: unknown;
}

/** True if a command left files to keep, or something else in place of the folder `artifacts/`. Does not throw. */
export async function hasFiles(folder: string, named: readonly NamedFile[]): Promise<boolean> {
  return named.length > 0 || within(folder, hasArtifacts).catch(() => false);
}

async function hasArtifacts(root: OpenFolder): Promise<boolean> {
  const found = await openBelow(root, FOLDER, "folder").catch(codeOf);
  if (typeof found === "string") return found !== "ENOENT";
  const some = entriesOf(entryPath(found.last, "."), 1).then((entries) => entries.length > 0);
  return some.finally(found.close);
}

/**
 * Keeps the files that a command named, and those in its folder `artifacts/`. Follows no link, even one created
 * meanwhile. Logs entries of the folder that are not regular files, and returns all other files that were not kept.
 */
export async function collectFiles(collection: Collection): Promise<Unkept[]> {
  return within(collection.folder, async (root) => {
    const { named, ctx } = collection;
    const found = await filesOf(root, collection);
    for (const entry of found.special) ctx.onLog("warn", notKept(entry));
    const taken = new Set(named.map(({ path }) => plain(path)));
    const files = [...named, ...found.files.filter(({ path }) => !taken.has(path))];
    const unkept: Unkept[] = found.isCut
      ? [{ name: FOLDER, error: new Error(`more than ${MOST_ENTRIES} entries`) }]
      : [];
    for (const file of files) {
      await keep(root, collection, file).catch((error: unknown) => unkept.push({ name: file.name, error }));
      collection.check();
    }
    return unkept;
  });
}

const notKept = (entry: string): string =>
  entry === ""
    ? `${FOLDER} is not kept: it is not a readable folder`
    : `${FOLDER}/${entry} is not kept: it is not a regular file`;

/**
 * Holds the working folder open during `work`. A command cannot replace it, because its parent folder belongs to the
 * worker.
 */
async function within<T>(folder: string, work: (root: OpenFolder) => Promise<T>): Promise<T> {
  const root = await openFolder(await realpath(folder));
  return work(root).finally(() => root.handle.close());
}

async function keep(root: OpenFolder, { artifacts, check }: Collection, file: NamedFile): Promise<void> {
  const problem = file.problem ?? nameProblem(file.name);
  if (problem) throw new Error(problem);
  const handle = await openFile(root, file.path);
  try {
    const { contentType } = file;
    const writer = artifacts.open(file.name, contentType === undefined ? {} : { contentType }, check);
    await writeArtifact(writer, handle.createReadStream({ highWaterMark: 256 * 1024, autoClose: false }));
  } finally {
    await handle.close();
  }
}

/** Opens a regular file below the folder, through folders only and never through a link. */
async function openFile(root: OpenFolder, path: string): Promise<FileHandle> {
  const parts = normalizeRelative(path).split("/");
  const name = parts.pop() ?? "";
  const { last, close } = await openBelow(root, parts.join("/"), "folder").catch(unreadable);
  return openPlainFile(entryPath(last, name)).finally(close);
}

async function openPlainFile(at: string): Promise<FileHandle> {
  if (!isPlainFile(await lstat(at).catch(unreadable))) throw new Error("it is not a regular file");
  const handle = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(unreadable);
  if (isPlainFile(await handle.stat())) return handle;
  await handle.close();
  throw new Error("it is not a regular file");
}

// A file with a second name may belong to another user: a command can link it without being able to read it.
const isPlainFile = (info: Stats): boolean => info.isFile() && info.nlink === 1;

const codeOf = (error: unknown): string =>
  error instanceof PathRefusedError ? error.refusal : ((error as NodeJS.ErrnoException).code ?? "unknown");

function unreadable(error: unknown): never {
  const code = codeOf(error);
  if (code === "ENOENT") throw new Error("the file does not exist");
  if (code === "ENOTDIR" || code === "link") throw new Error("its path leads through something that is no folder");
  throw new Error(`it cannot be read (${code})`);
}

interface Found {
  readonly files: NamedFile[];
  readonly special: string[];
  /** Entries seen so far, folders among them. */
  entries: number;
  isCut: boolean;
}

type Walk = Pick<Collection, "check"> & { readonly found: Found };

async function filesOf(root: OpenFolder, { check }: Collection): Promise<Found> {
  const found: Found = { files: [], special: [], entries: 0, isCut: false };
  const opened = await openBelow(root, FOLDER, "folder").catch(codeOf);
  if (typeof opened !== "string") await walk(opened.last, "", { found, check }).finally(opened.close);
  else if (opened !== "ENOENT") found.special.push("");
  return found;
}

/**
 * Returns the first entries of a folder, sorted by name. Reads at most `most`, because a command may leave millions.
 */
export async function entriesOf(folder: string, most: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(folder)) {
    entries.push(entry);
    if (entries.length >= most) break;
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function walk(folder: OpenFolder, below: string, { found, check }: Walk): Promise<void> {
  check();
  const entries = await entriesOf(entryPath(folder, "."), MOST_ENTRIES + 1).catch(() => null);
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
    if (entry.isDirectory()) await enter(folder, entry.name, { below: `${name}/`, found, check });
    else if (entry.isFile()) found.files.push({ name, path: `${FOLDER}/${name}` });
    else found.special.push(name);
  }
}

async function enter(folder: OpenFolder, name: string, { below, ...rest }: Walk & { below: string }): Promise<void> {
  const opened = await openBelow(folder, name, "folder").catch(() => null);
  if (opened) await walk(opened.last, below, rest).finally(opened.close);
  else rest.found.special.push(below);
}

function plain(path: string): string {
  try {
    return normalizeRelative(path);
  } catch {
    return path;
  }
}
