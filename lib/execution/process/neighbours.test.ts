import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { openInside } from "../paths";
import { loadCommandRegistry } from "../registry/load";
import type { CommandRegistry } from "../registry/registry";
import { makeTestFolder, shellCommand, type TestFolder, testContext, until, writeRegistry } from "../test-support";
import type { RunContext } from "../types";
import { tenantUser } from "./tenant-user";

const isRoot = process.getuid?.() === 0;
const SCRATCH = ["/tmp", "/var/tmp", "/dev/shm"];

let folder: TestFolder;
const at = (...parts: string[]) => path.join(folder.root, ...parts);
beforeAll(async () => {
  folder = await makeTestFolder();
  for (const tenant of ["acme", "globex"]) {
    mkdirSync(at("data", tenant, "sub"), { recursive: true });
    writeFileSync(at("data", tenant, "sub/file"), `of ${tenant}`);
    chmodSync(at("data", tenant), 0o777);
  }
  symlinkSync(at("data/globex"), at("data/acme/link"));
  for (const name of ["open", "jobs/lib", "jobs/lib/out"]) {
    mkdirSync(at(name));
    chmodSync(at(name), 0o777);
  }
  writeFileSync(at("jobs/lib/part"), "as installed");
  chmodSync(at("jobs/lib/part"), 0o666);
});
afterAll(() => folder.remove());

// Two tenants' commands on one worker, with scripts that do the worst a tenant could want.
describe.runIf(process.platform === "linux").each(["best", "user"] as const)("isolated as %s", (isolation) => {
  let registry: CommandRegistry;
  beforeAll(async () => {
    const script = { env: { SCRIPT: "{script}" }, argv: ["{path}"] };
    const given = { type: "provider_path", path_from: "path" };
    const text = { type: "text" };
    const evaluates = await shellCommand(folder, "task", 'eval "$SCRIPT"');
    const entries = {
      alone: { ...evaluates, env: script.env, placeholders: { script: text } },
      reads: { ...evaluates, ...script, placeholders: { script: text, path: given } },
      writes: { ...evaluates, ...script, placeholders: { script: text, path: { ...given, writable: true } } },
      few: { ...evaluates, env: script.env, placeholders: { script: text }, limits: { processes: 64 } },
    };
    const hide = {
      folders: [at("shared"), at("data")],
      files: [],
      scratch: SCRATCH,
      kept: [at("open"), at("jobs/lib/out")],
    };
    const options = { sharedFolder: folder.shared, hide, isolation };
    registry = await loadCommandRegistry(await writeRegistry(folder, entries), options);
    // If the kernel refuses namespaces there is nothing to test, and the worker says so.
    if (!registry.launch.hidden) expect(registry.exposure).not.toBeNull();
  });

  interface Asked {
    readonly given?: string;
    readonly changes?: Partial<RunContext>;
  }
  async function run(key: string, script: string, { given = "", changes = {} }: Asked = {}) {
    const openProviderPath = (_id: string, relative: string) =>
      openInside({ root: at("data/acme"), relative, allowedRoots: [at("data")] });
    const { ctx } = testContext({ openProviderPath, jobId: randomUUID(), timeoutSeconds: 60, ...changes });
    const args = key === "reads" || key === "writes" ? { provider_id: randomUUID(), path: given, script } : { script };
    const { outcome, output } = await executeCommand(registry, key, args, ctx);
    return { outcome, said: output.stdoutTail };
  }
  const works = () => registry.launch.hidden !== null;

  test("a command cannot see another one's working folder or its files in /tmp", async () => {
    if (!works()) return;
    const leave = SCRATCH.map((scratch) => `echo secret >${scratch}/left`).join("; ");
    const [ready, stop] = [at("open", `ready-${isolation}`), at("open", `stop-${isolation}`)];
    const other = run(
      "alone",
      `${leave}; echo secret >own; echo 1 >"${ready}"; while [ ! -e "${stop}" ]; do sleep 0.05; done`,
    );
    await until("the other one runs", () => existsSync(ready), 20_000);
    const look = `find ${SCRATCH.join(" ")} "$PWD/.." \\( -name left -o -name own \\) 2>/dev/null; ls "$PWD/.." | wc -l; cat "$PWD"/../*/own; true`;
    const { said } = await run("alone", look);
    writeFileSync(stop, "");
    expect((await other).outcome.kind).toBe("succeeded");
    const after = await run("alone", `find ${SCRATCH.join(" ")} -name left`);
    expect([said.trim(), after.said]).toEqual(["1", ""]);
  });

  test("a command sees the folder it is given, and no other below the roots of providers", async () => {
    if (!works()) return;
    const look = `cat "$1/sub/file"; echo; ls "$1/.."; cat "$1/link/sub/file" "$1/../globex/sub/file"; ls "${at("data")}"; ls /proc/self/fd/5/..; true`;
    expect((await run("reads", look)).said).toBe("of acme\nacme\nacme\n");
    expect((await run("alone", `ls "${at("data")}"; true`)).said).toBe("");
    const file = await run("reads", `cat "$1"; echo; echo "$1"; ls "\${1%/*}" "\${1%/*}/.."`, { given: "sub/file" });
    expect(file.said.split("\n").slice(0, 3)).toEqual(["of acme", at("data/acme/sub/file"), `${at("data/acme/sub")}:`]);
    expect(file.said).not.toContain("globex");
  });

  test("a given folder is read-only unless the entry allows writing", async () => {
    if (!works()) return;
    const write = `echo text >"$1/new" && cat "$1/new"; true`;
    expect((await run("reads", write)).said).toBe("");
    expect(existsSync(at("data/acme/new"))).toBe(false);
    expect((await run("writes", `${write}; rm "$1/new"`)).said).toBe("text\n");
  });

  test("a command with the worker's user cannot change programs that the worker or another command runs", async () => {
    if (!works() || !registry.launch.userNamespace) return;
    const [part, added, out] = [at("jobs/lib/part"), at("jobs/lib/added"), at("jobs/lib/out/result")];
    const write = `echo evil >"${part}"; rm "${part}"; mv "${at("jobs/lib")}" "${at("jobs/moved")}"; echo evil >"${added}"`;
    const undo = `mount -o remount,bind,rw "${at("jobs")}"; umount -l "${at("jobs")}"; mount -o remount,bind,rw /`;
    const nested = `unshare --user --map-root-user --mount sh -c '${`${undo}; ${write}`.replaceAll("'", `'"'"'`)}'`;
    const { outcome } = await run("alone", `(${write}; ${nested}) 2>/dev/null; echo own >file; echo 1 >"${out}"`);
    expect(outcome.kind).toBe("succeeded");
    expect([part, out].map((file) => readFileSync(file, "utf8"))).toEqual(["as installed", "1\n"]);
    expect(existsSync(added)).toBe(false);
  });

  test("a command with the worker's user cannot use up the user namespaces", async () => {
    if (!works() || !registry.launch.userNamespace) return;
    const { said } = await run(
      "alone",
      `(for n in $(seq 60); do unshare --user sleep 5 & done; wait) 2>&1 | grep -c .`,
    );
    expect(Number(said)).toBeGreaterThan(20);
    expect(Number(said)).toBeLessThan(60);
  });

  test("a fork bomb does not use up another tenant's processes", { timeout: 60_000 }, async () => {
    if (!works()) return;
    const bomb = run("alone", "bomb() { while :; do sleep 30 & done; }; bomb; bomb", {
      changes: { timeoutSeconds: 4, killGraceSeconds: 0, tenantId: randomUUID() },
    });
    const many = "for n in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01 & done; wait; echo done";
    const ends = [];
    for (let round = 0; round < 8; round += 1) ends.push((await run("alone", many)).said);
    expect(ends).toEqual(ends.map(() => "done\n"));
    expect((await bomb).outcome.kind).not.toBe("succeeded");
  });

  test("the number of processes of one command is limited", async () => {
    if (!works() || !registry.launch.prlimit) return;
    const { said } = await run(
      "few",
      `(for n in $(seq 100); do sleep 5 & done; wait) 2>&1 | grep -c -i "cannot fork"; true`,
    );
    expect(Number(said)).toBeGreaterThan(0);
    const { outcome } = await run("few", "for n in $(seq 100); do sleep 5 & done; wait");
    expect(outcome).toMatchObject({ kind: "failed", errorType: "temporary_resource" });
  });

  test("a command has its own message queues and shared memory, and is killed first when memory runs out", async () => {
    if (!works()) return;
    const { said } = await run("alone", "readlink /proc/self/ns/ipc; cat /proc/self/oom_score_adj");
    const [ipc, score] = said.split("\n");
    expect(ipc).toMatch(/^ipc:/);
    expect(ipc).not.toBe(readlinkSync("/proc/self/ns/ipc"));
    expect(score).toBe("1000");
  });

  test("a command that fills /tmp does not fill another one's", async () => {
    if (!works()) return;
    const fill = SCRATCH.map((scratch) => `head -c 200000000 /dev/zero >${scratch}/big 2>/dev/null`).join("; ");
    const { said } = await run("alone", `${fill}; stat -c %s /tmp/big /var/tmp/big /dev/shm/big`);
    for (const size of said.trim().split("\n")) expect(Number(size)).toBeLessThanOrEqual(64 * 1024 * 1024);
    expect((await run("alone", "echo text >/tmp/file && cat /tmp/file")).said).toBe("text\n");
  });
});

test.runIf(isRoot)("under root each tenant's commands have their own user, the same for all its jobs", async () => {
  const who = await shellCommand(folder, "who", "id -u; id -g; ls -ldn . | cut -c1-10; touch own && echo wrote");
  const registry = await loadCommandRegistry(await writeRegistry(folder, { who }), { sharedFolder: folder.shared });
  const ask = async (tenantId: string) =>
    (await executeCommand(registry, "who", {}, testContext({ tenantId }).ctx)).output.stdoutTail.split("\n");
  const [acme, globex] = [randomUUID(), randomUUID()];
  const [first, second, other] = await Promise.all([ask(acme), ask(acme), ask(globex)]);
  const [uid, ...rest] = first ?? [];
  expect(Number(uid)).toBeGreaterThanOrEqual(1_000_000_000);
  expect(rest).toEqual(["65534", "drwx------", "wrote", ""]);
  expect(second).toEqual(first);
  expect(other?.[0]).not.toBe(uid);
});

test("the user ids of tenants are valid and well distributed", () => {
  const isolation = { runAs: { uid: 65_534, gid: 65_534, name: "nobody" }, ownUsers: true };
  const uids = Array.from({ length: 1000 }, () => tenantUser(isolation, randomUUID())?.uid ?? 0);
  expect(new Set(uids).size).toBeGreaterThan(990);
  expect(Math.max(...uids)).toBeLessThan(2 ** 31 - 1);
});
