import { expect, test } from "vitest";
import { parseMounts } from "./read-only";

const line = (path: string, options: string, type: string): string =>
  `30 1 0:26 / ${path} ${options} shared:1 - ${type} source rw`;

test("mounts that can be written to are found with their flags, and those below a later one are not", () => {
  const text = [
    line("/", "rw,relatime", "ext4"),
    line("/proc", "rw,nosuid", "proc"),
    line("/media/ro", "ro,nosuid", "ext4"),
    line("/data/inner", "rw", "ext4"),
    line("/data", "rw,nosuid,nodev,noexec,noatime,idmapped", "xfs"),
    line("/database", "rw", "xfs"),
    line("/a\\040b", "rw", "tmpfs"),
    line("/a\\040b", "ro", "tmpfs"),
    "",
  ].join("\n");
  expect(parseMounts(text)).toEqual([
    { path: "/", flags: ["relatime"] },
    { path: "/data", flags: ["nosuid", "nodev", "noexec", "noatime"] },
    { path: "/database", flags: [] },
  ]);
});
