import { randomUUID } from "node:crypto";
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { executeCommand } from "../execute-command";
import { openInside } from "../paths";
import { loadCommandRegistry } from "../registry/load";
import { makeTestFolder, shellCommand, type TestFolder, testContext, writeRegistry } from "../test-support";

let folder: TestFolder;
beforeAll(async () => {
  folder = await makeTestFolder();
});
afterAll(() => folder.remove());

/** A test's folder, in which roots of providers and folders with secrets come, go and change. */
function makeRoots() {
  const base = path.join(folder.root, randomUUID());
  mkdirSync(base);
  chmodSync(base, 0o755);
  const at = (...parts: string[]) => path.join(base, ...parts);
  /** Makes a folder with a file of each tenant, which every user can read. */
  const fill = (name: string) => {
    for (const tenant of ["acme", "globex"]) {
      mkdirSync(at(name, tenant), { recursive: true });
      writeFileSync(at(name, tenant, "file"), `${tenant} in ${name}\n`, { mode: 0o644 });
    }
  };
  const link = (target: string, name: string) => {
    symlinkSync(at(target), at(`${name}.new`));
    renameSync(at(`${name}.new`), at(name));
  };
  return { base, at, fill, link };
}
type Roots = ReturnType<typeof makeRoots>;

interface Change {
  readonly before: (roots: Roots) => void;
  readonly after: (roots: Roots) => void;
}

const CHANGES: Readonly<Record<string, Change>> = {
  "is made": { before: () => undefined, after: ({ fill }) => fill("root") },
  "is a link whose target is made": {
    before: ({ link }) => link("one", "root"),
    after: ({ fill }) => fill("one"),
  },
  "is a link and is pointed elsewhere": {
    before: ({ fill, link }) => {
      fill("one");
      link("one", "root");
    },
    after: ({ fill, link }) => {
      fill("two");
      link("two", "root");
    },
  },
  "becomes a link": {
    before: ({ fill }) => fill("root"),
    after: ({ at, fill, link }) => {
      rmSync(at("root"), { recursive: true });
      fill("one");
      link("one", "root");
    },
  },
  "is removed and made again": {
    before: ({ fill }) => fill("root"),
    after: ({ at, fill }) => {
      rmSync(at("root"), { recursive: true });
      fill("root");
    },
  },
};

/** Reads every file within reach: through the roots, their targets, and the given folder. */
const LOOK = `cat "$BASE"/*/*/file "$1/../globex/file" "$1/../../globex/file" 2>/dev/null; true`;
const OWN = `cat "$1/file"; ${LOOK}`;

describe.runIf(process.platform === "linux").each(["best", "user"] as const)("isolated as %s", (isolation) => {
  async function worker({ base, at }: Roots, files: readonly string[] = []) {
    const given = { placeholders: { path: { type: "provider_path", path_from: "path" } }, argv: ["{path}"] };
    const entries = {
      alone: { ...(await shellCommand(folder, "alone", LOOK)), env: { BASE: base } },
      given: { ...(await shellCommand(folder, "given", OWN)), env: { BASE: base }, ...given },
    };
    const found: string[][] = [];
    const registry = await loadCommandRegistry(await writeRegistry(folder, entries), {
      sharedFolder: folder.shared,
      hide: { folders: [folder.shared, at("root")], files, scratch: ["/tmp"], kept: [base] },
      onHidden: (folders) => found.push([...folders]),
      isolation,
    });
    const run = async (key: "alone" | "given", meanwhile: () => void = () => undefined) => {
      const openProviderPath = (_id: string, relative: string) => {
        meanwhile();
        return openInside({ root: at("root/acme"), relative, allowedRoots: [at("root")] });
      };
      const { ctx } = testContext({ openProviderPath, jobId: randomUUID(), timeoutSeconds: 30 });
      const args = key === "given" ? { provider_id: randomUUID(), path: "" } : {};
      const { outcome, output } = await executeCommand(registry, key, args, ctx);
      return { outcome, said: output.stdoutTail };
    };
    // If the kernel refuses namespaces there is nothing to test, and the worker says so.
    return { run, found, hides: registry.launch.hidden !== null };
  }

  test.each(Object.entries(CHANGES))(
    "a root that %s after the worker's start is hidden from commands",
    async (_what, { before, after }) => {
      const roots = makeRoots();
      before(roots);
      const { run, hides } = await worker(roots);
      if (!hides) return;
      expect(await run("alone")).toMatchObject({ outcome: { kind: "succeeded" }, said: "" });
      after(roots);
      expect(await run("alone")).toMatchObject({ outcome: { kind: "succeeded" }, said: "" });
      const { outcome, said } = await run("given");
      expect(outcome.kind).toBe("succeeded");
      expect(said).toMatch(/^acme in \w+\n/);
      expect(said).not.toContain("globex");
    },
  );

  test("the earlier target of a link stays hidden, and each folder found later is reported once", async () => {
    const roots = makeRoots();
    const { run, found, hides } = await worker(roots);
    if (!hides) return;
    const seen: string[] = [];
    for (const name of ["one", "two", "one"]) {
      roots.fill(name);
      roots.link(name, "root");
      seen.push((await run("alone")).said);
    }
    expect(seen).toEqual(["", "", ""]);
    expect(found).toEqual([[roots.at("one")], [roots.at("two")]]);
  });

  test.each(Object.entries(CHANGES))(
    "a root that %s while a command starts exposes no other tenant's folder",
    async (_what, { before, after }) => {
      const roots = makeRoots();
      before(roots);
      const { run, hides } = await worker(roots);
      if (!hides) return;
      const { outcome, said } = await run("given", () => after(roots));
      expect(said.includes("globex")).toBe(false);
      const refused = { kind: "failed", message: expect.stringContaining("retry the job") };
      if (outcome.kind !== "succeeded") expect(outcome).toMatchObject(refused);
    },
  );

  test("a missing root does not keep commands from starting", async () => {
    const roots = makeRoots();
    roots.fill("root");
    const { run, hides } = await worker(roots);
    if (!hides) return;
    rmSync(roots.at("root"), { recursive: true });
    expect((await run("alone")).outcome.kind).toBe("succeeded");
  });

  test("no command starts while a root links to /, which cannot be hidden", async () => {
    const roots = makeRoots();
    const { run, hides } = await worker(roots);
    if (!hides) return;
    symlinkSync("/", roots.at("root"));
    expect((await run("alone")).outcome).toMatchObject({ kind: "failed", errorType: "temporary_resource" });
    rmSync(roots.at("root"));
    expect((await run("alone")).outcome.kind).toBe("succeeded");
  });

  test("a file with secrets that is created or relinked later is hidden too", async () => {
    const roots = makeRoots();
    roots.fill("one");
    roots.link("one", "config");
    const { run, hides } = await worker(roots, [roots.at("config/acme/file"), roots.at("late/acme/file")]);
    if (!hides) return;
    for (const name of ["two", "late"]) roots.fill(name);
    roots.link("two", "config");
    expect((await run("alone")).said).not.toContain("acme");
  });
});
