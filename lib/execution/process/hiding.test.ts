import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { openInside } from "../paths";
import { loadCommandRegistry } from "../registry/load";
import { makeTestFolder, shellCommand, type TestFolder, testContext, until, writeRegistry } from "../test-support";
import { planHiding } from "./hiding";

let folder: TestFolder;
const at = (...parts: string[]) => path.join(folder.root, ...parts);

/** Makes a file that the commands' user can read. */
function readableFile(file: string, text: string): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text, { mode: 0o644 });
}

beforeAll(async () => {
  folder = await makeTestFolder();
  readableFile(at("home/runtime.json"), "canary");
  readableFile(at("home/it's kept/inside"), "provided");
  readableFile(at("config/worker.env"), "canary");
  readableFile(at("jobs/.env"), "canary");
  mkdirSync(at("home/work"), { recursive: true });
  chmodSync(at("home"), 0o755);
});
afterAll(() => folder.remove());

test("the folder of a secret file is hidden with it, unless commands need that folder or it is a system folder", async () => {
  const files = [at("config/worker.env"), at("jobs/.env"), at("home/runtime.json"), "/etc/hostname", "/nowhere/at/all"];
  const kept = [at("jobs"), at("home/it's kept")];
  const hidden = await planHiding({ folders: [at("home")], files, scratch: [], kept }, "mount");
  expect(hidden).toEqual({
    mount: "mount",
    covers: [
      { path: at("home"), kept: [at("home/it's kept")], isScratch: false },
      { path: at("config"), kept: [], isScratch: false },
    ],
    files: [at("jobs/.env"), "/etc/hostname"],
    locked: null,
    resolved: [{ name: at("home"), path: at("home") }],
  });
});

test("a folder inside a kept one is hidden too, and one inside a hidden one is not hidden twice", async () => {
  const plan = { folders: [at("home"), at("home/work"), at("home/it's kept/deep")], files: [], scratch: [folder.root] };
  mkdirSync(at("home/it's kept/deep"), { recursive: true });
  const hidden = await planHiding({ ...plan, kept: [at("home/it's kept")] }, "mount");
  expect(hidden.covers).toEqual([
    { path: folder.root, kept: [at("home/it's kept")], isScratch: true },
    { path: at("home/it's kept/deep"), kept: [], isScratch: false },
  ]);
});

describe.runIf(process.platform === "linux")("hidden files", () => {
  const LINES = `
    look() { find "$1" -type f ! -path '*/work/*' -exec cat {} + 2>/dev/null; }
    all() { look "$ROOT/home"; look "$ROOT/config"; cat "$ROOT/jobs/.env" "$1/../runtime.json" "$1/../../config/worker.env"; }
    all "$1"; echo "first look"; touch "$ROOT/open/ready"
    while [ ! -e "$ROOT/open/replaced" ]; do sleep 0.05; done
    all "$1"; echo "second look"; echo own >file; cat file "$1/inside"`;

  test.each(["best", "user"] as const)(
    "cannot be read by a command isolated as %s, also after a file was replaced",
    async (mode) => {
      const hide = {
        folders: [at("home")],
        files: [at("config/worker.env"), at("jobs/.env")],
        scratch: [],
        kept: [at("home/it's kept"), at("open")],
      };
      mkdirSync(at("open"), { recursive: true });
      chmodSync(at("open"), 0o777);
      const task = {
        ...(await shellCommand(folder, "task", LINES)),
        argv: ["{path}"],
        placeholders: { path: { type: "provider_path", path_from: "path" } },
        env: { ROOT: folder.root },
      };
      const registry = await loadCommandRegistry(await writeRegistry(folder, { task }), {
        sharedFolder: at("home"),
        hide,
        isolation: mode,
      });
      if (!registry.isolation.includes("private-mounts")) return expect(registry.launch.hidden).toBeNull();
      const root = at("home/it's kept");
      const openProviderPath = (_id: string, inside: string) =>
        openInside({ root, relative: inside, allowedRoots: [root] });
      const { ctx } = testContext({ openProviderPath });
      const running = executeCommand(registry, "task", { provider_id: randomUUID(), path: "" }, ctx);
      const early = running.then((end) => Promise.reject(new Error(`it ended early: ${JSON.stringify(end)}`)));
      await Promise.race([until("it has looked", () => existsSync(at("open/ready")), 20_000), early]);
      early.catch(() => undefined);
      for (const file of ["home/runtime.json", "config/worker.env"]) {
        readableFile(at(`${file}.new`), "canary");
        renameSync(at(`${file}.new`), at(file));
      }
      writeFileSync(at("open/replaced"), "");
      const { output, outcome } = await running;
      expect(outcome).toMatchObject({ kind: "succeeded" });
      expect(output.stdoutTail.split("\n")).toEqual(["providedfirst look", "providedsecond look", "own", "provided"]);
      for (const name of ["ready", "replaced"]) renameSync(at("open", name), at("open", `${name}-${mode}`));
    },
  );
});

// Kubernetes mounts a secret as worker.env -> ..data/worker.env with ..data -> ..1, and a rotation replaces ..data.
test.runIf(process.platform === "linux").each(["best", "user"] as const)(
  "a secret behind a link stays hidden from a command isolated as %s when it is rotated",
  async (isolation) => {
    const [secrets, open] = [at(`secrets-${isolation}`), at(`open-${isolation}`)];
    const put = (version: string) => {
      mkdirSync(path.join(secrets, version), { recursive: true });
      readableFile(path.join(secrets, version, "worker.env"), "canary");
    };
    put("..1");
    symlinkSync("..1", path.join(secrets, "..data"));
    symlinkSync("..data/worker.env", path.join(secrets, "worker.env"));
    mkdirSync(open);
    chmodSync(open, 0o777);
    const look = `cat '${secrets}/worker.env' '${secrets}'/..*/*`;
    const wait = `touch '${open}/ready'; while [ ! -e '${open}/go' ]; do sleep 0.05; done`;
    const task = await shellCommand(folder, `looks-${isolation}`, `${look}; ${wait}; ${look}; echo looked`);
    const hide = { folders: [at("home")], files: [path.join(secrets, "worker.env")], scratch: [], kept: [open] };
    const options = { sharedFolder: at("home"), hide, isolation };
    const registry = await loadCommandRegistry(await writeRegistry(folder, { task }), options);
    if (!registry.isolation.includes("private-mounts")) return;
    const running = executeCommand(registry, "task", {}, testContext().ctx);
    await until("it has looked", () => existsSync(path.join(open, "ready")), 20_000);
    put("..2");
    symlinkSync("..2", path.join(secrets, "..new"));
    renameSync(path.join(secrets, "..new"), path.join(secrets, "..data"));
    writeFileSync(path.join(open, "go"), "");
    expect((await running).output.stdoutTail).toBe("looked\n");
  },
);

test.runIf(process.platform === "linux")(
  "a command with the worker's user can write only to its own folder and those it may use",
  async () => {
    for (const name of ["around", "around/used"]) {
      mkdirSync(at(name));
      chmodSync(at(name), 0o777);
    }
    const places = ["around/left", "around/used/left", "jobs/left"].map((name) => `"${at(name)}"`);
    const lines = `for place in ${places.join(" ")} "$HOME/left"; do touch "$place" && echo yes || echo no; done 2>/dev/null`;
    const task = await shellCommand(folder, "writes", lines);
    const hide = { folders: [at("home")], files: [], scratch: [], kept: [at("around/used")] };
    const options = { sharedFolder: at("home"), hide, isolation: "user" } as const;
    const registry = await loadCommandRegistry(await writeRegistry(folder, { task }), options);
    if (!registry.isolation.includes("private-mounts")) return;
    const { output } = await executeCommand(registry, "task", {}, testContext().ctx);
    expect(output.stdoutTail).toBe("no\nyes\nno\nyes\n");
  },
);
