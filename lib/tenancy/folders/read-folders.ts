import { createHash } from "node:crypto";
import type { Dirent } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** How a folder looks: a digest of eight bytes, as hexadecimal, for each folder in it, by its path below the root ("" = itself). */
export type FolderLook = ReadonlyMap<string, string>;

export interface ReadLimits {
  /** Entries that are looked at; folders that do not fit in are known by their own time of change alone. */
  readonly mostEntries: number;
  /** Aborted when it takes too long. */
  readonly signal: AbortSignal;
}

/** Answers of the file system that are waited for at once. */
const AT_ONCE = 32;
const DEEPEST = 100;
const DIGEST_CHARACTERS = 16;

/**
 * Looks at names, sizes and times of what lies in a folder, breadth first and in the order of the names, so that the same
 * contents always give the same look. Links are never followed; what cannot be read counts as unreadable. Rejects when the
 * folder itself cannot be read, or with the signal's reason.
 */
export async function readFolders(root: string, { mostEntries, signal }: ReadLimits): Promise<FolderLook> {
  const look = new Map<string, string>();
  const waiting = [""];
  let left = mostEntries;
  for (let next = 0; next < waiting.length; next++) {
    signal.throwIfAborted();
    const folder = waiting[next] ?? "";
    const path = join(root, folder);
    const entries = await entriesOf(path, left).catch((error: unknown) => {
      if (folder === "") throw error;
      return "unreadable" as const;
    });
    if (entries === "too-many") left = 0;
    if (typeof entries === "string") {
      look.set(folder, digestOf(folder, [entries, await changedMs(path)]));
      continue;
    }
    left -= entries.length;
    look.set(folder, digestOf(folder, await describe(path, { entries, signal })));
    if (folder.split("/").length >= DEEPEST) continue;
    for (const entry of entries) {
      if (entry.isDirectory()) waiting.push(folder === "" ? entry.name : `${folder}/${entry.name}`);
    }
  }
  return look;
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

async function changedMs(path: string): Promise<string> {
  const info = await lstat(path).catch(() => null);
  return String(info?.mtimeMs ?? 0);
}

async function describe(
  path: string,
  { entries, signal }: { readonly entries: readonly Dirent[]; readonly signal: AbortSignal },
): Promise<string[]> {
  const described: string[] = [];
  for (let from = 0; from < entries.length; from += AT_ONCE) {
    signal.throwIfAborted();
    described.push(
      ...(await Promise.all(entries.slice(from, from + AT_ONCE).map((entry) => describeEntry(path, entry)))),
    );
  }
  return described;
}

async function describeEntry(path: string, entry: Dirent): Promise<string> {
  if (entry.isDirectory()) return `${entry.name}\0folder`;
  if (!entry.isFile()) return `${entry.name}\0other`;
  const info = await lstat(join(path, entry.name)).catch(() => null);
  return `${entry.name}\0${info?.size ?? "?"}\0${info?.mtimeMs ?? "?"}`;
}

/** No name holds a slash and no path two of them in a row, so nothing runs together. */
const digestOf = (folder: string, parts: readonly string[]): string =>
  createHash("sha256")
    .update([folder, ...parts].join("//"))
    .digest("hex")
    .slice(0, DIGEST_CHARACTERS);

/** A look as it is stored, and a fingerprint of it. */
export function packLook(look: FolderLook): { readonly folders: Buffer; readonly fingerprint: Buffer } {
  const folders = Buffer.from([...look.values()].sort().join(""), "hex");
  return { folders, fingerprint: createHash("sha256").update(folders).digest() };
}

/** What became different since the look that was stored: how many folders, and the innermost one that holds them all. */
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
