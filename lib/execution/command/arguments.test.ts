import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openInside } from "../paths";
import type { Command } from "../registry/registry";
import { commandSchema } from "../registry/schema";
import { parseTemplate } from "../registry/template";
import type { OpenedPath } from "../types";
import { buildArguments, checkSize } from "./arguments";

const PROVIDER = "0190a000-0000-7000-8000-00000000000a";
let root = "";
let work = "";
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "leasehold arguments ")));
  work = join(root, "work");
  for (const folder of ["work", "data", "data/sub", "outside"]) await mkdir(join(root, folder));
  await writeFile(join(root, "data/sub/-rf $(id) `x`\n🎉"), "");
  await writeFile(join(work, "in.txt"), "");
  await symlink("/etc/passwd", join(root, "data/passwd"));
  await symlink("sub", join(root, "data/inside"));
  await symlink("/etc", join(work, "etc"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function commandOf(entry: Record<string, unknown>): Command {
  const spec = commandSchema.parse({ binary: "/bin/echo", ...entry });
  return { key: "test", spec, template: parseTemplate(spec), program: ["/bin/echo"], files: [] };
}

async function build(entry: Record<string, unknown>, args: Record<string, unknown>) {
  const opened: OpenedPath[] = [];
  const openProviderPath = (_id: string, relative: string) =>
    openInside({ root: join(root, "data"), relative, allowedRoots: [root] });
  const inherit = (path: OpenedPath) => `/${opened.push(path)}:${path.path}`;
  try {
    return await buildArguments(commandOf(entry), { args, folder: work, openProviderPath, inherit });
  } finally {
    await Promise.all(opened.map((path) => path.close()));
  }
}

const entryFor = (placeholder: Record<string, unknown>) => ({
  argv: ["--v={v}", "--", "{v}"],
  placeholders: { v: placeholder },
});

test.each([
  [{ type: "int" }, -5, "-5"],
  [{ type: "int", min: 1, max: 9 }, 9, "9"],
  [{ type: "int" }, -0, "0"],
  [{ type: "enum", values: ["-a", "b"] }, "-a", "-a"],
  [{ type: "slug" }, "refs/heads/main@v1.2", "refs/heads/main@v1.2"],
  [{ type: "uuid" }, PROVIDER.toUpperCase(), PROVIDER],
  [{ type: "date" }, "2028-02-29", "2028-02-29"],
  [{ type: "relative_path" }, "/a//b/./-c d/", "a/b/-c d"],
])("CM-2 %j accepts %j", async (placeholder, value, text) => {
  expect((await build(entryFor(placeholder), { v: value })).argv).toEqual([`--v=${text}`, "--", text]);
});

test.each([
  [{ type: "int" }, ["1", 1.5, Number.NaN, 2 ** 53, true, [1], { valueOf: (): number => 1 }]],
  [{ type: "int", min: 1, max: 9 }, [0, 10]],
  [{ type: "enum", values: ["a"] }, ["A", "a ", "", 1]],
  [{ type: "slug" }, ["", "-a", "a b", "a;b", "a\n", "../a", "a/../b", "a/..", "..", "é", "a".repeat(129), 5]],
  [{ type: "uuid" }, ["", `${PROVIDER}\n`, `x${PROVIDER}`, "0190a000"]],
  [{ type: "date" }, ["2026-02-30", "2026-2-3", "2026-01-01T00:00", "2026-01-01\n", "0000-00-00"]],
  [{ type: "relative_path" }, ["..", "a/../b", "a\0", "\ud800", 1]],
  [{ type: "file" }, ["", "/etc/passwd", "..", "a/../b", "./a", "a//b", "etc/passwd", "etc", "a\0b"]],
])("CM-2 CM-3 %j refuses hostile values", async (placeholder, values) => {
  for (const value of [...values, undefined, null]) {
    await expect(build(entryFor(placeholder), { v: value })).rejects.toMatchObject({
      errorType: "invalid_input",
    });
  }
});

test("CM-2 an absent optional value removes its whole element", async () => {
  const entry = {
    argv: ["--a={a}", "--b={b}"],
    placeholders: { a: { type: "int", optional: true }, b: { type: "int" } },
  };
  expect((await build(entry, { b: 2 })).argv).toEqual(["--b=2"]);
  expect((await build(entry, { a: null, b: 2 })).argv).toEqual(["--b=2"]);
});

test("CM-2 an unused argument is refused, and inherited properties are ignored", async () => {
  await expect(build({ argv: ["x"] }, { extra: 1 })).rejects.toThrow(/is not used by the command/);
  const inherited = Object.create({ v: 1 }) as Record<string, unknown>;
  await expect(build(entryFor({ type: "int" }), inherited)).rejects.toThrow(/missing/);
});

test("CM-3 a file in the job's folder is passed with its real path", async () => {
  expect((await build(entryFor({ type: "file" }), { v: "in.txt" })).argv[2]).toBe(join(work, "in.txt"));
});

const providerEntry = (more: Record<string, unknown> = {}) => ({
  argv: ["{p}"],
  placeholders: { p: { type: "provider_path", path_from: "path", ...more } },
});

test("CM-2 a path in a provider's folder can have any name, and never leaves the folder", async () => {
  const path = "sub/-rf $(id) `x`\n🎉";
  const resolved = await build(providerEntry(), { provider_id: PROVIDER, path });
  expect(resolved.argv).toEqual([`/1:${join(root, "data", path)}`]);
  const whole = [`/1:${join(root, "data")}`];
  expect((await build(providerEntry(), { provider_id: PROVIDER })).argv).toEqual(whole);
  expect((await build(providerEntry(), { provider_id: PROVIDER, path: "/" })).argv).toEqual(whole);
  for (const outside of ["passwd", "../outside", "..", "sub/../../outside", "a\0", "\udc00"]) {
    await expect(build(providerEntry(), { provider_id: PROVIDER, path: outside })).rejects.toMatchObject({
      errorType: "invalid_input",
    });
  }
  for (const absent of ["/etc/passwd", "sub/none", "sub/../sub/none".replace("../", "")]) {
    await expect(build(providerEntry(), { provider_id: PROVIDER, path: absent })).rejects.toMatchObject({
      errorType: "not_found",
    });
  }
});

test("CM-2 links inside a provider's folder are refused, and so is another kind of file than the entry expects", async () => {
  for (const path of ["inside", "inside/none", "passwd"])
    await expect(build(providerEntry(), { provider_id: PROVIDER, path })).rejects.toThrow(/symbolic link/);
  const args = { provider_id: PROVIDER, path: "sub" };
  await expect(build(providerEntry({ expect: "file" }), args)).rejects.toThrow(/not a file/);
});

test("CM-2 a provider's folder outside all roots is refused", async () => {
  const outside = openInside({
    root: join(root, "data"),
    relative: "",
    allowedRoots: [join(root, "outside"), "/nowhere"],
  });
  await expect(outside).rejects.toMatchObject({ errorType: "permission" });
});

const NASTY = [
  "-",
  "--",
  "=",
  "\0",
  "\n",
  "$(touch /tmp/x)",
  "`id`",
  ";",
  "../",
  "/etc/passwd",
  "{v}",
  "*",
  "\u202e",
  "x".repeat(1_000_000),
];
const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc
    .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ maxLength: 8 })), { maxLength: 5 })
    .map((parts) => parts.join("")),
  fc.anything(),
);

test.each([
  { type: "int", min: 0 },
  { type: "enum", values: ["a", "-b"] },
  { type: "slug" },
  { type: "uuid" },
  { type: "date" },
  { type: "relative_path" },
  { type: "file" },
])(
  "C2 2,000 hostile values of type $type each give one element or an error",
  { timeout: 30_000 },
  async (placeholder) => {
    await fc.assert(
      fc.asyncProperty(hostile, async (value) => {
        const built = await build(entryFor(placeholder), { v: value }).catch((error: unknown) => {
          expect(error).toMatchObject({ errorType: "invalid_input" });
          return null;
        });
        if (!built) return;
        expect(built.argv).toHaveLength(3);
        expect(built.argv[0]).toBe(`--v=${built.argv[2]}`);
        expect(built.argv[1]).toBe("--");
        expect(built.argv[2]).not.toContain("\0");
        expect(built.argv[2]?.split("/")).not.toContain("..");
      }),
      { numRuns: 2000 },
    );
  },
);

test("SUBPROC-13 sizes at their limits are accepted", () => {
  expect(() => checkSize(["x".repeat(131_071)], {})).not.toThrow();
  expect(() => checkSize(["x".repeat(131_072)], {})).toThrow(/larger than/);
  expect(() => checkSize([], { A: "€".repeat(50_000) })).toThrow(/larger than/);
  expect(() => checkSize(Array(30).fill("x".repeat(100_000)), {})).toThrow(/together/);
});
