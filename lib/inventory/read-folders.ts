import { createHash } from "node:crypto";
import type { Dirent } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { entryPath, type OpenFolder, openBelow, openFolder } from "@/lib/files/open-folder";

/**
 * The state of a folder: an eight-byte digest, as hexadecimal, for each folder in it, by its path below the root ("" =
 * the root).
 */
export type FolderLook = ReadonlyMap<string, string>;

export interface ReadLimits {
  /** Most entries that are read. Folders beyond the limit are known by their own modification time only. */
  readonly mostEntries: number;
  /** Aborted when reading takes too long. */
  readonly signal: AbortSignal;
}

/** File system calls in flight at once. */
const AT_ONCE = 32;
const DEEPEST = 100;
const DIGEST_CHARACTERS = 16;

/**
 * Reads the names, sizes and times in a folder, breadth first and in the order of names, so that the same contents
 * always give the same digests. Follows no link below the folder, even one created meanwhile. A subfolder that cannot
 * be read counts as unreadable.
 * @throws the file system's error when the folder itself cannot be read, or the signal's reason
 */
export async function readFolders(realPath: string, limits: ReadLimits): Promise<FolderLook> {
  const root = await openFolder(realPath);
  try {
    return await readBelow(root, limits);
  } finally {
    await root.handle.close();
  }
}

async function readBelow(root: OpenFolder, { mostEntries, signal }: ReadLimits): Promise<FolderLook> {
  const look = new Map<string, string>();
  const waiting = [""];
  let left = mostEntries;
  for (let next = 0; next < waiting.length; next++) {
    signal.throwIfAborted();
    const folder = waiting[next] ?? "";
    const { entries, parts } = await readOne(root, folder, { mostEntries: left, signal });
    look.set(folder, digestOf(folder, parts));
    if (entries === "too-many") left = 0;
    if (typeof entries === "string") continue;
    left -= entries.length;
    if (folder.split("/").length >= DEEPEST) continue;
    for (const entry of entries) {
      if (entry.isDirectory()) waiting.push(folder === "" ? entry.name : `${folder}/${entry.name}`);
    }
  }
  return look;
}

interface ReadFolder {
  readonly entries: readonly Dirent[] | "too-many" | "unreadable";
  /** The texts that the digest is computed from. */
  readonly parts: readonly string[];
}

async function readOne(root: OpenFolder, folder: string, { mostEntries, signal }: ReadLimits): Promise<ReadFolder> {
  const opened = await openBelow(root, folder, "folder").catch(() => null);
  if (!opened) return { entries: "unreadable", parts: ["unreadable", "0"] };
  const { last, close } = opened;
  try {
    const entries = await entriesOf(entryPath(last, "."), mostEntries).catch((error: unknown) => {
      if (folder === "") throw error;
      return "unreadable" as const;
    });
    if (typeof entries !== "string") return { entries, parts: await describe(last, { entries, signal }) };
    return { entries, parts: [entries, String((await last.handle.stat()).mtimeMs)] };
  } finally {
    await close();
  }
}

async function entriesOf(path: string, most: number): Promise<Dirent[] | "too-many"> {
  const entries: Dirent[] = [];
  // Leaving the loop closes the folder.
  for await (const entry of await opendir(path, { bufferSize: 256 })) {
    if (entries.length === most) return "too-many";
    entries.push(entry);
  }
  return entries.sort((one, other) => (one.name < other.name ? -1 : 1));
}

async function describe(
  folder: OpenFolder,
  { entries, signal }: { readonly entries: readonly Dirent[]; readonly signal: AbortSignal },
): Promise<string[]> {
  const described: string[] = [];
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    signal.throwIfAborted();
    described.push(
      ...(await Promise.all(entries.slice(from, from + AT_ONCE).map((entry) => describeEntry(folder, entry)))),
    );
  }
  return described;
}

async function describeEntry(folder: OpenFolder, entry: Dirent): Promise<string> {
  if (entry.isDirectory()) return `${entry.name}\0folder`;
  if (!entry.isFile()) return `${entry.name}\0other`;
  const info = await lstat(entryPath(folder, entry.name)).catch(() => null);
  return `${entry.name}\0${info?.size ?? "?"}\0${info?.mtimeMs ?? "?"}`;
}

/** No name contains a slash, and no path two slashes in a row, so the joined texts are unambiguous. */
const digestOf = (folder: string, parts: readonly string[]): string =>
  createHash("sha256")
    .update([folder, ...parts].join("//"))
    .digest("hex")
    .slice(0, DIGEST_CHARACTERS);

/** Returns a folder's state as it is stored, with its fingerprint. */
export function packLook(look: FolderLook): { readonly folders: Buffer; readonly fingerprint: Buffer } {
  const folders = Buffer.from([...look.values()].sort().join(""), "hex");
  return { folders, fingerprint: createHash("sha256").update(folders).digest() };
}

/**
 * Compares a stored state with a new one. Returns the number of changed folders, and the innermost folder that contains
 * all of them.
 */
export function compareLook(
  before: Buffer,
  look: FolderLook,
): { readonly folderPath: string; readonly folders: number } {
  const known = new Set(before.toString("hex").match(/.{16}/g));
  const changed = [...look].filter(([, digest]) => !known.has(digest)).map(([path]) => path.split("/"));
  const [first = [], ...others] = changed;
  const shared = others.reduce((common, parts) => {
    const end = common.findIndex((part, index) => parts[index] !== part);
    return end === -1 ? common : common.slice(0, end);
  }, first);
  return { folderPath: shared.join("/"), folders: changed.length };
}
