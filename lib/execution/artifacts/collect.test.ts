import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { defineJob } from "../define-job";
import { AttemptLostError } from "../errors";
import { executeHandler } from "../execute-handler";
import {
  makeTestFolder,
  memorySteps,
  noEvents,
  registryOf,
  runShell,
  shellCommand,
  testContext,
} from "../test-support";
import type { RunContext } from "../types";
import { entriesOf } from "./collect";
import { memoryArtifacts } from "./memory-artifacts.fixture";

const folder = await makeTestFolder();
afterAll(() => folder.remove());

async function ran(lines: string, { quota, ...changes }: Partial<RunContext> & { readonly quota?: number } = {}) {
  const kept = memoryArtifacts(quota);
  const logs: string[] = [];
  const onLog: RunContext["onLog"] = (_level, text) => logs.push(text);
  const { outcome } = await runShell(folder, lines, { artifacts: kept.store, onLog, ...changes });
  return {
    outcome,
    logs,
    files: Object.fromEntries([...kept.files].map(([name, { bytes }]) => [name, bytes.toString()])),
  };
}

test("the files of artifacts/ and those named on fd 3 are stored, for any exit code", async () => {
  const lines = `mkdir -p artifacts/sub; echo one >artifacts/a.txt; echo two >artifacts/sub/b; echo three >other
    echo '{"type":"artifact","name":"renamed.csv","path":"./other"}' >&3
    echo '{"type":"artifact","path":"artifacts/a.txt","name":"first"}' >&3`;
  const files = { first: "one\n", "renamed.csv": "three\n", "sub/b": "two\n" };
  expect(await ran(lines)).toEqual({ outcome: { kind: "succeeded", result: null }, logs: [], files });
  const failed = await ran(`${lines}; exit 3`);
  expect([failed.outcome.kind, failed.files]).toEqual(["failed", files]);
  const late = await ran(`${lines}; sleep 60`, { timeoutSeconds: 1 });
  expect([late.outcome.kind, late.files]).toEqual(["timeout", files]);
});

test("links and special files are skipped, and the attempt logs it", async () => {
  const { outcome, files, logs } = await ran(`mkdir artifacts; cd artifacts; echo x >file; ln -s /etc/passwd link
    ln -s /etc folder; mkfifo pipe`);
  expect([outcome.kind, files]).toEqual(["succeeded", { file: "x\n" }]);
  expect(logs.toSorted()).toEqual(
    ["folder", "link", "pipe"].map((name) => `artifacts/${name} is not kept: it is not a regular file`),
  );
});

test.each([
  ["a link to the folder", `mkdir real; echo x >real/f; ln -s real out`, "out/f", "no folder"],
  ["a link", `ln -s /etc/passwd out`, "out", "not a regular file"],
  ["a second name of a file", `echo x >a; ln a out`, "out", "not a regular file"],
  ["a path out of the folder", `true`, "../../etc/passwd", "must not contain"],
  ["a file that is not there", `true`, "nothing", "does not exist"],
  ["no path", `true`, "", "no folder"],
])("%s on fd 3 fails the job, so that no file is lost silently", async (_what, lines, path, why) => {
  const { outcome, files } = await ran(`${lines}; echo '{"type":"artifact","name":"wanted","path":"${path}"}' >&3`);
  expect(outcome).toMatchObject({ kind: "failed", errorType: "internal", retryable: false });
  expect(JSON.stringify(outcome)).toContain('artifacts are not kept: \\"wanted\\"');
  if (path !== "") expect(JSON.stringify(outcome)).toContain(why);
  expect(files).toEqual({});
});

test("named files beyond the limits fail the job, with the first ones in the error", async () => {
  const lines = `echo x >a; long=$(printf '%05000d' 0)
    echo "{\\"type\\":\\"artifact\\",\\"path\\":\\"$long\\"}" >&3
    echo "{\\"type\\":\\"artifact\\",\\"name\\":\\"far\\",\\"path\\":\\"$long\\"}" >&3
    echo '{"type":"artifact","name":"good","path":"a"}' >&3`;
  const { outcome, files } = await ran(lines);
  expect(outcome).toMatchObject({ kind: "failed", errorType: "internal", retryable: false });
  expect(JSON.stringify(outcome)).toMatch(/has a name of more than 200 characters.*far.*has a path that is too long/);
  expect(files).toEqual({ good: "x\n" });
  const many = await ran(
    `echo x >a; for n in $(seq 1001); do echo "{\\"type\\":\\"artifact\\",\\"name\\":\\"$n\\",\\"path\\":\\"a\\"}"; done >&3`,
  );
  expect(many.outcome).toMatchObject({ kind: "failed", errorType: "internal", retryable: false });
  expect(JSON.stringify(many.outcome)).toContain("too many files are named");
});

test("a file over the quota fails a successful job, is logged by a failed one, and does not affect other files", async () => {
  const lines = "mkdir artifacts; head -c 100 /dev/zero >artifacts/big; echo x >artifacts/a";
  const over = await ran(lines, { quota: 50 });
  expect(over.outcome).toMatchObject({
    kind: "failed",
    retryable: false,
    message: 'artifacts are not kept: "big" (the quota is full)',
  });
  expect(over.files).toEqual({ a: "x\n" });
  const failed = await ran(`${lines}; exit 3`, { quota: 50 });
  expect(failed.outcome).toMatchObject({ kind: "failed", message: "exit code 3" });
  expect(failed.logs).toContain('artifacts are not kept: "big" (the quota is full)');
});

test("an invalid name fails the job; so do more than 1,000 files or folders", async () => {
  const newline = await ran(`mkdir artifacts; echo x >"artifacts/a\nb"`);
  expect(JSON.stringify(newline.outcome)).toContain("control or invisible character");
  const many = await ran("mkdir artifacts; i=0; while [ $i -lt 1001 ]; do : >artifacts/$i; i=$((i+1)); done");
  expect(JSON.stringify(many.outcome)).toContain("more than 1000 entries");
  const folders = await ran("mkdir -p $(seq -f 'artifacts/%g/a/b/c' 300)");
  expect(JSON.stringify(folders.outcome)).toContain("more than 1000 entries");
});

test("a lost lease is the outcome during collection, and secrets are masked in files", async () => {
  const store = { ...memoryArtifacts().store, append: () => Promise.reject(new AttemptLostError()) };
  const lost = await ran("mkdir artifacts; echo x >artifacts/a", { artifacts: store });
  expect(lost.outcome).toEqual({ kind: "lease_lost" });
  const masked = await ran("mkdir artifacts; echo my hunter2 >artifacts/a", { secrets: ["hunter2"] });
  expect(masked.files).toEqual({ a: "my [redacted]\n" });
});

test("a command run by a handler stores its files for the same attempt", async () => {
  const kept = memoryArtifacts();
  const task = await shellCommand(folder, "task", "mkdir artifacts; echo x >artifacts/from-command");
  const registry = await registryOf(folder, { task });
  const { ctx } = testContext({ artifacts: kept.store });
  const handler = defineJob({
    key: "h",
    schema: z.unknown(),
    run: async (given) => {
      await given.artifact("from-handler", "y");
      await given.command("task", {});
    },
  });
  const transaction = () => Promise.reject(new Error("none here"));
  const full = { ...ctx, registry, transaction, publishEvent: noEvents, steps: memorySteps().steps };
  expect((await executeHandler(handler, full)).outcome.kind).toBe("succeeded");
  expect([...kept.files.keys()]).toEqual(["from-handler", "from-command"]);
});

test("a folder with very many files is read only up to the limit", async () => {
  const full = join(folder.root, "full");
  await mkdir(full);
  for (let at = 0; at < 30; at += 1) await writeFile(join(full, `${at}`), "");
  expect(await entriesOf(full, 7)).toHaveLength(7);
  expect((await entriesOf(full, 31)).map(({ name }) => name)).toEqual((await readdir(full)).sort());
});
