import { lstat, readFile } from "node:fs/promises";

/** A place where a file system is mounted that can be written to. */
export interface Mount {
  readonly path: string;
  /** Its flags, but for `rw`. In a user namespace the kernel refuses to change a mount without them. */
  readonly flags: readonly string[];
}

const FLAGS = ["nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "nosymfollow"];
/** File systems of the kernel's own objects, whose rights the kernel checks itself. */
const OF_THE_KERNEL =
  /^(?:proc|sysfs|cgroup2?|devpts|mqueue|securityfs|debugfs|tracefs|bpf|pstore|configfs|fusectl|binfmt_misc|hugetlbfs|autofs|nsfs|rpc_pipefs|efivarfs|selinuxfs)$/;

let last: { readonly text: string; readonly mounts: Promise<Mount[]> } | undefined;

/** The mounts of this process that can be written to and that its user can reach. They change rarely, so one list is kept. */
export async function writableMounts(): Promise<readonly Mount[]> {
  const text = await readFile("/proc/self/mountinfo", "utf8").catch(() => "");
  if (last?.text !== text) last = { text, mounts: reachable(parseMounts(text)) };
  return last.mounts;
}

async function reachable(mounts: readonly Mount[]): Promise<Mount[]> {
  const found = await Promise.all(mounts.map(({ path }) => lstat(path).then(Boolean, () => false)));
  return mounts.filter((_, at) => found[at]);
}

/** Reads the lines of `/proc/self/mountinfo`. A mount that lies below a later one cannot be reached and is left out. */
export function parseMounts(text: string): Mount[] {
  let mounts: (Mount & { readonly isWritable: boolean })[] = [];
  for (const line of text.split("\n")) {
    const [, , , , name, options] = line.split(" ");
    const type = line.slice(line.indexOf(" - ") + 3).split(" ")[0] ?? "";
    if (name === undefined || options === undefined) continue;
    const path = name.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
    const set = options.split(",");
    const below = path === "/" ? "/" : `${path}/`;
    mounts = mounts.filter((mount) => mount.path !== path && !mount.path.startsWith(below));
    const isWritable = set.includes("rw") && !OF_THE_KERNEL.test(type);
    mounts.push({ path, flags: set.filter((flag) => FLAGS.includes(flag)), isWritable });
  }
  return mounts.flatMap(({ path, flags, isWritable }) => (isWritable ? [{ path, flags }] : []));
}
