import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeIsolation, exposureOf } from "./isolation";
import type { Isolation } from "./supervisor";

const HIDDEN: Isolation["hidden"] = { mount: "mount", covers: [], files: [], locked: null, resolved: [] };
const BEST: Isolation = {
  namespace: "unshare-with-proc",
  userNamespace: true,
  hidden: HIDDEN,
  unshare: "unshare",
  setpriv: "setpriv",
  prlimit: "prlimit",
  ionice: "ionice",
  runAs: null,
  ownUsers: false,
};
const PROCESSES = /^the list of all processes, and change settings of the worker's process in \/proc$/;
const FILES = /^every file that the worker's user can read/;
const NOBODY = { name: "nobody", uid: 65_534, gid: 65_534 };

test.each<[what: string, isolation: Partial<Isolation>, exposure: RegExp | null]>([
  ["with a /proc of their own", {}, null],
  ["with the worker's /proc", { namespace: "unshare" }, PROCESSES],
  ["with the worker's files", { hidden: null }, FILES],
  ["with both", { namespace: "unshare", hidden: null }, /^the list of all processes.*; every file/],
  ["without a namespace", { namespace: null, hidden: null }, /^the environment, memory and open files of the worker/],
  ["of another user with the worker's /proc", { namespace: "unshare", userNamespace: false, runAs: NOBODY }, null],
])("commands of an ordinary user %s are exposed accordingly", (_what, differing, exposure) => {
  const found = exposureOf({ ...BEST, ...differing });
  expect(found ?? "nothing").toMatch(exposure ?? /^nothing$/);
});

test("the banner says where commands see the processes of the worker's container", () => {
  expect(describeIsolation(BEST)).not.toContain("shared-proc");
  expect(describeIsolation({ ...BEST, namespace: "unshare" })).toBe(
    "pid-namespace, own user, user-namespace, shared-proc, private-mounts, no-new-privs, limits",
  );
});

const isRoot = process.platform === "linux" && process.getuid?.() === 0;
const DETECT = `import { detectIsolation, exposureOf } from "./isolation";
const hide = { folders: [], files: [], scratch: [], kept: [] };
const found = await detectIsolation({ runAs: null, hide, folder: "/", mode: "user" });
console.log(JSON.stringify({ namespace: found.namespace, exposure: exposureOf(found) }));`;

const MASKED = "/proc/kcore /proc/keys /proc/timer_list /proc/sysrq-trigger";
const MASK = `for file in ${MASKED}; do if [ -e $file ]; then mount --bind /dev/null $file; fi; done;`;

describe.runIf(isRoot)("a worker of an ordinary user", () => {
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync("/tmp/leasehold-isolation-");
    chmodSync(folder, 0o755);
    const stdin = { contents: DETECT, resolveDir: import.meta.dirname, loader: "ts" as const };
    await build({ stdin, outfile: join(folder, "detect.mjs"), bundle: true, platform: "node", format: "esm" });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function detect(before: string): { namespace: string | null; exposure: string | null } {
    const user = `setpriv --reuid=${NOBODY.uid} --regid=${NOBODY.gid} --clear-groups`;
    const script = `${before} exec ${user} "$0" "$1"`;
    const args = ["--mount", "--", "/bin/sh", "-ec", script, process.execPath, join(folder, "detect.mjs")];
    const { stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8", cwd: "/", timeout: 60_000 });
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  }

  // A container masks parts of /proc, and the kernel then refuses to mount another one.
  test("finds that its commands have no /proc of their own where a part of /proc is masked", (context) => {
    if (detect("").namespace !== "unshare-with-proc") return context.skip();
    const masked = detect(MASK);
    expect(masked).toEqual({ namespace: "unshare", exposure: expect.stringMatching(PROCESSES) });
  });
});
