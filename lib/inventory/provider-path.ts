import { realpath, stat } from "node:fs/promises";
import { contains } from "@/lib/files/open-folder";

export type PathCheck = { readonly ok: true; readonly path: string } | { readonly ok: false; readonly detail: string };

/**
 * Checks a folder before it is registered: it must exist, be a directory, and its real path must lie inside an allowed
 * root, so that no link leads out. Returns the real path, which is the one to store.
 */
export async function checkProviderPath(path: string, roots: readonly string[]): Promise<PathCheck> {
  if (path.includes("\u0000")) return { ok: false, detail: "the path holds a NUL character" };
  const real = await realpath(path).catch(() => null);
  const isDirectory = real !== null && (await stat(real).catch(() => null))?.isDirectory() === true;
  const realRoots = await Promise.all(roots.map((root) => realpath(root).catch(() => null)));
  const isInside = real !== null && realRoots.some((root) => root !== null && contains(root, real));
  // One error for "outside" and "does not exist", because two would reveal what exists elsewhere on the machine.
  if (!isInside) return { ok: false, detail: "the folder is not inside one of PROVIDER_ROOTS, or does not exist" };
  return isDirectory ? { ok: true, path: real } : { ok: false, detail: "the path is not a directory" };
}
