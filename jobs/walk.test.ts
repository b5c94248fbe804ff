import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, linkSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { executeCommand, type HandlerRunContext, loadCommandRegistry, openInside } from "@/lib/execution";
import { AttemptArtifacts } from "@/lib/execution/artifacts/attempt-artifacts";
import { memoryArtifacts } from "@/lib/execution/artifacts/memory-artifacts.fixture";
import { RowChannel } from "@/lib/execution/command/row-channel";
import { runCommand } from "@/lib/execution/command/run-command";
import { AttemptCapture } from "@/lib/execution/output/attempt-capture";
import { secretForms } from "@/lib/execution/output/secret-forms";
import { makeTestFolder, type TestFolder, testContext } from "@/lib/execution/test-support";

const PROVIDER = "0190a000-0000-7000-8000-00000000000a";
const NAMES = [
  ...[
    "plain.txt",
    " leading and trailing ",
    "-rf",
    "--help",
    "new\nline",
    "tab\there",
    "cr\rhere",
    "ends in cr\r",
    "crlf\r\n",
    "back\\r slash\r",
    'quo"te',
    "it's",
    "back\\slash",
  ],
  ...[
    "$(id)",
    "`id`",
    "ünïcödé",
    "e\u0301 and é",
    "🎉 party 👩‍👩‍👧",
    "\u202eright-to-left",
    "*",
    "a=b",
    "\u0001control",
    "x".repeat(255),
  ],
];
let folder: TestFolder;
let data = "";
const contents = new Map<string, string>();

beforeAll(async () => {
  folder = await makeTestFolder();
  data = join(folder.root, "data");
  for (const sub of ["", "sub dir", "sub dir/-deep\n", "sub dir-2"]) mkdirSync(join(data, sub), { mode: 0o755 });
  NAMES.forEach((name, index) => {
    for (const sub of ["", "sub dir/", "sub dir/-deep\n/"]) contents.set(sub + name, `${sub}${index}`);
  });
  contents.set("empty", "");
  contents.set("sub dir-2/neighbour", "not below sub dir");
  for (const [path, text] of contents) writeFileSync(join(data, path), text);
  await makeSkipped();
});
afterAll(() => folder.remove());

const SKIPPED = 7;
async function makeSkipped() {
  writeFileSync(Buffer.concat([Buffer.from(`${data}/bad`), Buffer.from([0xff, 0xfe])]), "x");
  mkdirSync(Buffer.concat([Buffer.from(`${data}/badfolder`), Buffer.from([0xc3])]));
  symlinkSync("/etc/passwd", join(data, "link to file"));
  symlinkSync("/", join(data, "link to root"));
  symlinkSync("nowhere", join(data, "dangling"));
  execFileSync("mkfifo", [join(data, "pipe")]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(data, "socket"), resolve));
  server.unref();
}

async function run(key: string, args: Record<string, unknown>, changes: Partial<HandlerRunContext> = {}) {
  const registry = await loadCommandRegistry(join(import.meta.dirname, "commands.json"), {
    sharedFolder: folder.shared,
  });
  const openProviderPath = (_id: string, relative: string) =>
    openInside({ root: data, relative, allowedRoots: [folder.root] });
  const { ctx, recorded } = testContext({ openProviderPath, timeoutSeconds: 60, ...changes });
  return { registry, ctx, recorded, args: { provider_id: PROVIDER, ...args }, key };
}

async function walkFolder(args: Record<string, unknown> = {}) {
  const { registry, ctx, key, args: all } = await run("walk-folder", args);
  const secrets = secretForms([]);
  const rows = new RowChannel();
  const capture = new AttemptCapture(secrets, ctx);
  const artifacts = () => new AttemptArtifacts(ctx, secrets);
  const ended = runCommand(registry, { key, args: all, ctx, capture, secrets, rows, artifacts });
  void ended.then(() => rows.end(null));
  const seen: Record<string, unknown>[] = [];
  for await (const row of rows) seen.push(row as Record<string, unknown>);
  return { rows: seen, outcome: (await ended).outcome, stderr: capture.finish({}).stderrTail };
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("walk-folder lists every regular file under its exact name, and skips other entries", async () => {
  const { rows, outcome, stderr } = await walkFolder();
  expect({ stderr, outcome }).toEqual({
    stderr: "",
    outcome: {
      kind: "succeeded",
      result: { files: contents.size, bytes: [...contents.values()].join("").length, skipped: SKIPPED },
    },
  });
  const found = new Map(rows.map((row) => [row.path, row]));
  expect([...found.keys()].sort()).toEqual([...contents.keys()].sort());
  for (const [path, text] of contents) {
    expect(found.get(path)).toMatchObject({ size: Buffer.byteLength(text), sha256: sha256(text) });
  }
});

test("walk-folder stays in its folder, and paths are relative to the provider", async () => {
  const expected = [...contents.keys()].filter((path) => path.startsWith("sub dir/")).sort();
  for (const prefix of ["sub dir", "/sub dir/", "./sub dir//"]) {
    const { rows } = await walkFolder({ path_prefix: prefix });
    expect(rows.map((row) => row.path).sort()).toEqual(expected);
  }
});

test.each([
  ["none", "not_found"],
  ["plain.txt", "invalid_input"],
  ["link to root", "invalid_input"],
  ["../data", "invalid_input"],
  ["sub dir/../..", "invalid_input"],
])("walk-folder refuses the folder %s", async (path_prefix, errorType) => {
  expect((await walkFolder({ path_prefix })).outcome).toMatchObject({ kind: "failed", errorType });
});

test("walk-folder skips and reports unreadable entries, and their rows are kept", async () => {
  const locked = join(data, "locked");
  mkdirSync(locked);
  writeFileSync(join(locked, "inside"), "x");
  writeFileSync(join(data, "secret.txt"), "x", { mode: 0o600 });
  chmodSync(join(data, "secret.txt"), 0);
  chmodSync(locked, 0);
  const { rows, outcome } = await walkFolder();
  chmodSync(locked, 0o755);
  execFileSync("rm", ["-rf", locked, join(data, "secret.txt")]);
  expect(outcome).toMatchObject({ kind: "succeeded", result: { files: contents.size, skipped: SKIPPED + 2 } });
  const kept = rows.filter((row) => "kept" in row);
  expect(kept).toEqual([
    { kept: "locked", folder: true },
    { kept: "secret.txt", folder: false },
  ]);
});

test("walk-folder reports time and media type, by content before name", async () => {
  const typed = join(data, "typed");
  mkdirSync(typed, { mode: 0o755 });
  const png = Buffer.from("89504e470d0a1a0a0000", "hex");
  const files: [string, Buffer, string][] = [
    ["image.txt", png, "image/png"],
    ["data.csv", Buffer.from("a,b\n"), "text/csv"],
    [
      "book.docx",
      Buffer.from("PK\u0003\u0004...."),
      "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ],
    ["README", Buffer.from("just text, ü"), "text/plain"],
    ["blob", Buffer.from([1, 2, 3, 0]), "application/octet-stream"],
    ["none.constructor", Buffer.from([0]), "application/octet-stream"],
  ];
  for (const [name, bytes] of files) {
    writeFileSync(join(typed, name), bytes);
    utimesSync(join(typed, name), 1_700_000_000, 1_700_000_000.5);
  }
  const { rows } = await walkFolder({ path_prefix: "typed" });
  execFileSync("rm", ["-rf", typed]);
  expect(Object.fromEntries(rows.map((row) => [row.path, row.media_type]))).toEqual(
    Object.fromEntries(files.map(([name, , type]) => [`typed/${name}`, type])),
  );
  expect(rows[0]).toMatchObject({ modified_ms: 1_700_000_000_500 });
});

test("walk-folder reads deeper than the maximum path length", async () => {
  const deep = join(data, "deep");
  mkdirSync(deep, { mode: 0o755 });
  const script =
    'cd "$1" && i=0; while [ $i -lt 30 ]; do mkdir "$2" && cd -P "./$2" || exit 1; i=$((i+1)); done; echo end >file';
  execFileSync("/bin/sh", ["-c", script, "sh", deep, "d".repeat(200)]);
  const { rows, outcome } = await walkFolder({ path_prefix: "deep" });
  execFileSync("rm", ["-rf", deep]);
  expect(outcome).toMatchObject({ kind: "succeeded" });
  expect(rows.map((row) => row.path)).toEqual([`deep/${`${"d".repeat(200)}/`.repeat(30)}file`]);
});

test("the last progress of walk-folder covers every file", async () => {
  const { registry, ctx, recorded, key, args } = await run("walk-folder", {});
  await executeCommand(registry, key, args, ctx);
  const message = `${contents.size} of ${contents.size} files`;
  expect(recorded.progress.at(-1)).toMatchObject({ message });
});

async function checksumReport(args: Record<string, unknown> = {}) {
  const kept = memoryArtifacts();
  const { registry, key, args: all, ctx } = await run("checksum-report", args, { artifacts: kept.store });
  const { outcome, output } = await executeCommand(registry, key, all, ctx);
  return { outcome, output, report: kept.files.get("checksums.txt")?.bytes.toString() ?? "" };
}

test("checksum-report stores thousands of lines as an artifact, and shows a part of them in its output", async () => {
  const many = join(data, "many");
  mkdirSync(many, { mode: 0o755 });
  const names = Array.from({ length: 6000 }, (_, at) => `${at}-${"n".repeat(120)}`);
  for (const name of names) writeFileSync(join(many, name), name);
  const { outcome, output, report } = await checksumReport({ path_prefix: "many" });
  execFileSync("rm", ["-rf", many]);
  const lines = names.map((name) => `${sha256(name)}  many/${name}`);
  expect(report.trimEnd().split("\n").toSorted()).toEqual(lines.toSorted());
  expect(output.droppedBytes).toBeGreaterThan(0);
  expect(outcome).toMatchObject({ kind: "succeeded", result: { files: 6000, sha256: sha256(report) } });
});

test("checksum-report is accepted by sha256sum -c, and its result describes it", async () => {
  linkSync(join(data, "plain.txt"), join(data, "hard link"));
  const { outcome, output, report } = await checksumReport();
  const bytes = [...contents.values()].join("").length + 1;
  expect(outcome).toEqual({
    kind: "succeeded",
    result: { artifact: "checksums.txt", files: contents.size + 1, bytes, skipped: SKIPPED, sha256: sha256(report) },
  });
  // Raw control characters in names make the printed copy differ, because a terminal must not act on them.
  expect(output.stdoutTail.split("\n")).toHaveLength(report.split("\n").length);
  expect(output.stderrTail).toMatch(/^7 entries were skipped/);
  const checked = execFileSync("sha256sum", ["-c", "--strict", "--quiet"], { cwd: data, input: report });
  expect(checked.toString()).toBe("");
  execFileSync("rm", [join(data, "hard link")]);
});
