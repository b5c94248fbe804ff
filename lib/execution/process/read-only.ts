import { lstat, readFile } from "node:fs/promises";
import { contains } from "@/lib/files/open-folder";

/** A place where a file system is mounted that can be written to. */
export interface Mount {
  readonly path: string;
  /** Its flags, but for `rw`. In a user namespace the kernel refuses to change a mount without them. */
  readonly flags: readonly string[];
}

const FLAGS = ["nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "nosymfollow"];
/**
 * File systems of the kernel's own objects, whose rights the kernel checks itself. A cgroup is not one of them, because
 * the worker's user may have been given its own.
 */
const OF_THE_KERNEL =
  /^(?:proc|sysfs|devpts|mqueue|securityfs|debugfs|tracefs|bpf|pstore|configfs|fusectl|binfmt_misc|hugetlbfs|autofs|nsfs|rpc_pipefs|efivarfs|selinuxfs)$/;

let last: { readonly text: string; readonly mounts: Promise<Mount[]> } | undefined;

/** The mounts of this process that can be written to and that its user can reach. They change rarely, so one list is kept. */
export async function writableMounts(): Promise<readonly Mount[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch((error: NodeJS.ErrnoException) => {
    // Without the list, a command could write everywhere.
    if (error.code !== "ENOENT") throw error;
    return "";
  });
  if (last?.text !== text) last = { text, mounts: reachable(parseMounts(text)) };
  return last.mounts;
}

async function reachable(mounts: readonly Mount[]): Promise<Mount[]> {
  const found = await Promise.all(mounts.map(({ path }) => lstat(path).then(Boolean, () => false)));
  return mounts.filter((_, at) => found[at]);
}

interface Entry extends Mount {
  readonly id: string;
  readonly parent: string;
  readonly isWritable: boolean;
}

/** Reads `/proc/self/mountinfo`. A mount that another one covers cannot be reached and is left out. */
export function parseMounts(text: string): Mount[] {
  const entries = text.split("\n").flatMap(parseLine);
  const ids = new Set(entries.map(({ id }) => id));
  const root = entries.find(({ parent, path }) => path === "/" && !ids.has(parent));
  const children = new Map<string, Entry[]>();
  for (const entry of entries) children.set(entry.parent, [...(children.get(entry.parent) ?? []), entry]);
  const isReachable = (entry: Entry) => root !== undefined && mountAt(entry.path, root, children) === entry;
  return entries.filter((entry) => entry.isWritable && isReachable(entry)).map(({ path, flags }) => ({ path, flags }));
}

function parseLine(line: string): Entry[] {
  const [id, parent, , , name, options] = line.split(" ");
  if (id === undefined || parent === undefined || name === undefined || options === undefined) return [];
  const type = line.slice(line.indexOf(" - ") + 3).split(" ")[0] ?? "";
  const path = name.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
  const set = options.split(",");
  const isWritable = set.includes("rw") && !OF_THE_KERNEL.test(type);
  return [{ id, parent, path, flags: set.filter((flag) => FLAGS.includes(flag)), isWritable }];
}

/** The mount in which a path lies, found as the kernel does: from the root, into the first mount on the way. */
function mountAt(path: string, root: Entry, children: ReadonlyMap<string, readonly Entry[]>): Entry {
  for (let at = root; ; ) {
    const onTheWay = (children.get(at.id) ?? []).filter((one) => one !== at && contains(one.path, path));
    const [first, ...others] = onTheWay;
    if (!first) return at;
    at = others.reduce((least, one) => (one.path.length < least.path.length ? one : least), first);
  }
}
