import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
const NOBODY = { name: "nobody", uid: 65_534, gid: 65_534 };

const [FULL, SHARED_PROC] = ["unshare-with-proc", "unshare"] as const;
const CHANGES = "the list of all processes, and change settings of the worker's process in /proc";
const OWN_FILES = "every file that the worker's user can read, those with secrets among them";
const ALL = `the environment, memory and open files of the worker and of every other process of its user, and ${OWN_FILES}`;

test.each<[rung: string, isolation: Partial<Isolation>, exposure: string | null]>([
  ["with a /proc of their own", { namespace: FULL }, null],
  ["with the worker's /proc", { namespace: SHARED_PROC }, CHANGES],
  ["with the worker's files", { namespace: FULL, hidden: null }, OWN_FILES],
  ["with both", { namespace: SHARED_PROC, hidden: null }, `${CHANGES}; ${OWN_FILES}`],
  ["without a namespace", { namespace: null, hidden: null }, ALL],
])("commands of an ordinary user %s are exposed accordingly", (_rung, differing, exposure) => {
  expect(exposureOf({ ...BEST, ...differing })).toBe(exposure);
});

const LISTED = "the list of all processes with their arguments";
const PEERS = "the environment, memory and open files of other tenants' commands";
const FILES = "files of all tenants that the commands' user can read, such as those in PROVIDER_ROOTS and /tmp";

test.each<[rung: string, isolation: Partial<Isolation>, own: string | null, shared: string | null]>([
  ["with a /proc of their own", { namespace: FULL }, null, null],
  ["with the worker's /proc", { namespace: SHARED_PROC }, LISTED, `${LISTED}; ${PEERS}`],
  ["with all files", { namespace: FULL, hidden: null }, FILES, FILES],
  ["with both", { namespace: SHARED_PROC, hidden: null }, `${LISTED}; ${FILES}`, `${LISTED}; ${PEERS}; ${FILES}`],
  ["without a namespace", { namespace: null, hidden: null }, `${LISTED}; ${FILES}`, `${LISTED}; ${PEERS}; ${FILES}`],
])("commands of a root worker %s are exposed accordingly", (_rung, differing, own, shared) => {
  const root = { ...BEST, userNamespace: false, runAs: NOBODY, ...differing };
  expect(exposureOf({ ...root, ownUsers: true })).toBe(own);
  expect(exposureOf({ ...root, ownUsers: false })).toBe(shared);
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
    const { stdout, stderr } = tryDetect(before);
    expect(stderr).toBe("");
    return JSON.parse(stdout);
  }

  function tryDetect(before: string) {
    const user = `setpriv --reuid=${NOBODY.uid} --regid=${NOBODY.gid} --clear-groups`;
    const script = `${before} exec ${user} "$0" "$1"`;
    const args = ["--mount", "--", "/bin/sh", "-ec", script, process.execPath, join(folder, "detect.mjs")];
    return spawnSync("unshare", args, { encoding: "utf8", cwd: "/", timeout: 60_000 });
  }

  // A container masks parts of /proc, and the kernel then refuses to mount another one.
  test("finds that its commands have no /proc of their own where a part of /proc is masked", (context) => {
    if (detect("").namespace !== "unshare-with-proc") return context.skip();
    const masked = detect(MASK);
    expect(masked).toEqual({ namespace: "unshare", exposure: CHANGES });
  });

  /** Detects with a program `unshare` that does this. */
  function detectWith(lines: string) {
    const fake = join(folder, "unshare");
    writeFileSync(fake, `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
    return tryDetect(`mount --bind ${fake} $(command -v unshare);`);
  }

  test.each([
    ["no process", "echo 'unshare: fork failed: Resource temporarily unavailable' >&2; exit 1"],
    ["no process for a shell", "echo '/bin/sh: 0: Cannot fork' >&2; exit 2"],
    ["no memory", "echo 'unshare: unshare failed: Cannot allocate memory' >&2; exit 1"],
    ["no namespace", "echo 'unshare: unshare failed: No space left on device' >&2; exit 1"],
    ["too little memory to live", "kill -KILL $$"],
  ])("fails for now where its machine has %s left", (_what, lines) => {
    const { status, stderr } = detectWith(lines);
    expect([status, stderr]).toEqual([1, expect.stringContaining("failed for now, try again")]);
  });

  test("uses no namespace where the kernel forbids it", () => {
    const { stdout, stderr } = detectWith("echo 'unshare: unshare failed: Operation not permitted' >&2; exit 1");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({ namespace: null, exposure: ALL });
  });
});
