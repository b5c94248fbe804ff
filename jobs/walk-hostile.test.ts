import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FrameReader } from "@/lib/execution/output/frames";
import { hashFile } from "./scripts/lib/hash-file.mjs";
import { walk } from "./scripts/lib/walk.mjs";

let folder = "";
beforeAll(() => {
  // A file system in memory holds instants that others truncate.
  folder = fs.mkdtempSync(join(fs.existsSync("/dev/shm") ? "/dev/shm" : "/tmp", "walk-"));
});
afterAll(() => fs.rmSync(folder, { recursive: true }));

const sha256 = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex");
const made = (name: string) => {
  const path = fs.mkdtempSync(join(folder, `${name}-`));
  return { path, put: (file: string, text: string) => fs.writeFileSync(join(path, file), text) };
};

const resultIn = (line: Buffer) => (JSON.parse(line.toString()) as { value: Record<string, unknown> }).value;

/** Runs a script as a worker would, with standard output or frames redirected if given. */
function runScript(name: string, args: readonly string[], { out = "pipe", frames = "pipe" } = {}) {
  const open = (to: string) => (to === "pipe" ? to : fs.openSync(to, "w"));
  const ran = spawnSync(process.execPath, [join(import.meta.dirname, "scripts", `${name}.mjs`), ...args], {
    cwd: made("work").path,
    stdio: ["ignore", open(out), "pipe", open(frames)],
    maxBuffer: 64 * 1024 * 1024,
  });
  const said = [...new FrameReader().push(ran.output[3] ?? Buffer.alloc(0))];
  return {
    code: ran.status,
    stdout: ran.output[1]?.toString() ?? "",
    stderr: ran.output[2]?.toString() ?? "",
    rows: said.flatMap((frame) => (frame.type === "row" ? [frame.value as Record<string, unknown>] : [])),
    result: said.flatMap((frame) => (frame.type === "result" ? [resultIn(frame.line)] : []))[0],
  };
}

const FAULTS: readonly (readonly [what: string, script: string, args: readonly string[], to: object, end: object])[] = [
  ["no folder", "walk-folder", ["--folder=/none"], {}, { code: 66, stderr: /^the path is no longer a folder/ }],
  ["a file", "checksum-report", ["--folder=/etc/passwd"], {}, { code: 66, stderr: /^the path is no longer a folder/ }],
  ["an unknown option", "walk-folder", ["--none"], {}, { code: 70, stderr: /^Unknown option '--none'/ }],
  ["no option", "checksum-report", [], {}, { code: 70, stderr: /^--folder is missing$/m }],
  [
    "frames on a full disk",
    "walk-folder",
    ["--folder=HERE"],
    { frames: "/dev/full" },
    { code: 75, stderr: /^the worker's disk is full; free/ },
  ],
  [
    "output on a full disk",
    "checksum-report",
    ["--folder=HERE"],
    { out: "/dev/full" },
    { code: 75, stderr: /^the worker's disk is full; free/ },
  ],
];
test.each(FAULTS)(
  "a script that fails at %s reports it in one line, without a stack or a path",
  (...[, script, args, to, end]) => {
    const { path, put } = made("faults");
    put("a", "a");
    const ran = runScript(
      script,
      args.map((arg) => arg.replace("HERE", path)),
      to,
    );
    expect(ran).toMatchObject({ ...end, stderr: expect.stringMatching((end as { stderr: RegExp }).stderr) });
    expect(ran.stderr).toMatch(/^[^\n]+\n$/);
    expect(ran.stderr).not.toMatch(/\.mjs|\/etc|\/none|\/dev|Error/);
  },
);

const SURROGATE = Buffer.from([0xed, 0xa0, 0x80]);
const named = (path: string, name: Buffer) => Buffer.concat([Buffer.from(`${path}/`), name]);

/** A folder with a file of each kind, the expected files, and how many entries a walk skips. */
async function hostileTree() {
  const { path, put } = made("tree");
  const contents = new Map<string, string | Buffer>();
  // Two spellings of one name are two files.
  for (const name of ["new\nline", "back\\slash\r", "\u00e9", "e\u0301", "early", "late"]) {
    contents.set(name, name);
    put(name, name);
  }
  const touch = (file: string, seconds: string) => execFileSync("touch", ["-d", `@${seconds}`, join(path, file)]);
  touch("early", "-5000000000");
  touch("late", "9000000000000000");
  contents.set("sparse", Buffer.alloc(16 * 1024 * 1024));
  put("sparse", "");
  fs.truncateSync(join(path, "sparse"), 16 * 1024 * 1024);
  const deep = `${"d".repeat(250)}/`.repeat(16);
  contents.set(`${deep}file`, "end\n");
  const nest =
    'cd "$1" && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do mkdir "$2" && cd -P "./$2"; done; echo end >file';
  execFileSync("/bin/sh", ["-c", nest, "sh", path, "d".repeat(250)]);
  const skipped = [
    () => fs.writeFileSync(named(path, Buffer.from([0xff])), "x"),
    () => fs.writeFileSync(named(path, SURROGATE), "x"),
    () => fs.mkdirSync(named(path, Buffer.concat([SURROGATE, Buffer.from("folder")]))),
    () => fs.symlinkSync("loop", join(path, "loop")),
    () => fs.symlinkSync(".", join(path, "here")),
    () => execFileSync("mkfifo", [join(path, "pipe")]),
    () => new Promise<void>((resolve) => void createServer().unref().listen(join(path, "socket"), resolve)),
    // Only root can make devices, and not in every container.
    () => process.getuid?.() === 0 && spawnSync("mknod", [join(path, "zero"), "c", "1", "5"]),
  ];
  for (const make of skipped) await make();
  return { path, contents, skipped: fs.existsSync(join(path, "zero")) ? skipped.length : skipped.length - 1 };
}

test("walk-folder and checksum-report list every file of a hostile tree exactly, and count the rest", async () => {
  const { path, contents, skipped } = await hostileTree();
  const walked = runScript("walk-folder", [`--folder=${path}`]);
  expect([walked.code, walked.stderr]).toEqual([0, ""]);
  expect(walked.result).toMatchObject({ files: contents.size, skipped });
  expect(new Map(walked.rows.map((row) => [row.path, row.sha256]))).toEqual(
    new Map([...contents].map(([name, bytes]) => [name, sha256(bytes)])),
  );
  for (const row of walked.rows) expect(Number.isSafeInteger(row.modified_ms), `${row.path}`).toBe(true);
  expect(walked.rows.find((row) => row.path === "early")?.modified_ms).toBe(-5_000_000_000_000);

  const report = runScript("checksum-report", [`--folder=${path}`]);
  expect(report.result).toMatchObject({ files: contents.size, skipped, sha256: sha256(report.stdout) });
  execFileSync("sha256sum", ["-c", "--strict", "--quiet"], { cwd: path, input: report.stdout });
});

const CHANGES: readonly (readonly [what: string, put: (file: string) => unknown, reason: string])[] = [
  ["vanishes", () => undefined, "vanished"],
  ["becomes a link", (file) => fs.symlinkSync("/etc/passwd", file), "link"],
  ["becomes a FIFO", (file) => execFileSync("mkfifo", [file]), "special"],
  ["becomes a folder", (file) => fs.mkdirSync(file), "special"],
];
test.each(CHANGES)(
  "a file that %s between listing and opening is skipped, counted once and not followed",
  (...[, putInstead, reason]) => {
    const { path, put } = made("swap");
    for (const name of ["a", "b", "c"]) put(name, name);
    const skipped: unknown[] = [];
    const found: string[] = [];
    for (const file of walk(path, (skip) => skipped.push(skip))) {
      if (file.path === "b") {
        fs.rmSync(join(path, "b"));
        putInstead(join(path, "b"));
      }
      const fd = file.open();
      if (fd !== null) found.push(`${file.path} ${hashFile(fd)?.sha256}`);
    }
    expect(found).toEqual([`a ${sha256("a")}`, `c ${sha256("c")}`]);
    expect(skipped).toEqual([{ reason, path: "b", isFolder: false }]);
  },
);

test("a folder replaced by a link during the walk is read to its end, and the link is not followed", () => {
  const { path } = made("swapped");
  for (const sub of ["b", "outside"]) fs.mkdirSync(join(path, sub));
  for (const name of ["1", "2"]) fs.writeFileSync(join(path, "b", name), "inside");
  fs.writeFileSync(join(path, "outside", "2"), "outside");
  const found: string[] = [];
  for (const { path: at, open } of walk(path, () => undefined)) {
    if (at === "b/1") {
      fs.renameSync(join(path, "b"), join(path, "moved"));
      fs.symlinkSync("outside", join(path, "b"));
    }
    const fd = open();
    if (fd !== null) found.push(`${at} ${hashFile(fd)?.sha256}`);
  }
  expect(found).toEqual([`b/1 ${sha256("inside")}`, `b/2 ${sha256("inside")}`, `outside/2 ${sha256("outside")}`]);
});

test("the hash of a growing file covers as many bytes as its reported size", async () => {
  const { path, put } = made("growing");
  const log = join(path, "log");
  put("log", "x".repeat(8 * 1024 * 1024));
  const writer = spawn("/bin/sh", ["-c", 'while :; do echo line >>"$1"; done', "sh", log], { stdio: "ignore" });
  await expect.poll(() => fs.statSync(log).size).toBeGreaterThan(8 * 1024 * 1024);
  const seen = [1, 2, 3].map(() => hashFile(fs.openSync(log, "r")));
  writer.kill("SIGKILL");
  await once(writer, "exit");
  const whole = fs.readFileSync(log);
  for (const file of seen) expect(file?.sha256).toBe(sha256(whole.subarray(0, file?.size)));
});
