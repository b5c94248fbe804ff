import { expect, test } from "vitest";
import { parseMounts } from "./read-only";

const line = (ids: string, path: string, options: string, type = "ext4"): string =>
  `${ids} 0:26 / ${path} ${options} shared:1 - ${type} source rw`;

test("writable mounts are found with their flags, in any order, without covered ones", () => {
  const text = [
    // Mounted before the root was switched, so listed before it.
    line("22 27", "/proc", "rw,nosuid", "proc"),
    line("24 27", "/dev", "rw,nosuid", "devtmpfs"),
    line("25 24", "/dev/shm", "rw", "tmpfs"),
    line("27 1", "/", "rw,relatime"),
    line("28 27", "/media/ro", "ro,nosuid"),
    line("29 27", "/data/inner", "rw"),
    line("30 27", "/data", "rw,nosuid,nodev,noexec,noatime,idmapped", "xfs"),
    line("31 27", "/database", "rw", "xfs"),
    line("32 27", "/a\\040b", "rw", "tmpfs"),
    line("33 32", "/a\\040b", "ro", "tmpfs"),
    line("34 25", "/dev/shm", "rw,nodev", "tmpfs"),
    line("35 27", "/cgroup", "rw,nosuid,nodev,noexec,relatime", "cgroup2"),
    "",
  ].join("\n");
  expect(parseMounts(text)).toEqual([
    { path: "/dev", flags: ["nosuid"] },
    { path: "/", flags: ["relatime"] },
    { path: "/data", flags: ["nosuid", "nodev", "noexec", "noatime"] },
    { path: "/database", flags: [] },
    { path: "/dev/shm", flags: ["nodev"] },
    { path: "/cgroup", flags: ["nosuid", "nodev", "noexec", "relatime"] },
  ]);
});
