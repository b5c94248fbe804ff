import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { newWebhookSecret, signatureHeader } from "./signature";

const [secret, other] = [newWebhookSecret(), newWebhookSecret()];
const body = '{"type":"order.paid","data":{"name":"Zoë"}}';
const now = Math.floor(Date.now() / 1000);

function headersOf(secrets: readonly string[], timestamp = now): Record<string, string> {
  const signature = signatureHeader(secrets, { id: "msg_1", timestamp, body });
  return { "webhook-id": "msg_1", "webhook-timestamp": String(timestamp), "webhook-signature": signature };
}
const without = (name: string) =>
  Object.fromEntries(Object.entries(headersOf([secret])).filter(([one]) => one !== name));

const cases: readonly (readonly [string, Record<string, string>, boolean])[] = [
  ["as it was sent", headersOf([secret]), true],
  ["signed with two secrets", headersOf([other, secret]), true],
  ["signed with another secret", headersOf([other]), false],
  ["without a signature", without("webhook-signature"), false],
  ["without an id", without("webhook-id"), false],
  ["without a time", without("webhook-timestamp"), false],
  ["without any header", {}, false],
  ["with a time that is none", { ...headersOf([secret]), "webhook-timestamp": "soon" }, false],
  ["with an empty time", { ...headersOf([secret]), "webhook-timestamp": "" }, false],
  ["of an hour ago", headersOf([secret], now - 3600), false],
  ["of the future", headersOf([secret], now + 3600), false],
  ["with a signature that is none", { ...headersOf([secret]), "webhook-signature": "v1, v2,x ÿ" }, false],
  ["with a signature of another version", { ...headersOf([secret]), "webhook-signature": "v2,abc" }, false],
];

const folder = mkdtempSync(path.join(tmpdir(), "leasehold-receivers-"));
const programs: ChildProcess[] = [];
afterAll(() => {
  for (const program of programs) program.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** The block of the documentation that has a function `verify`. */
function snippet(language: "js" | "python"): string {
  const blocks = readFileSync("docs/webhooks.md", "utf8").matchAll(/^```(\w+)\n([\s\S]*?)^```/gm);
  const found = [...blocks].find(([, kind, text]) => kind === language && /\bverify\(secret/.test(text ?? ""));
  if (!found?.[2]) throw new Error(`no ${language} in the documentation`);
  return found[2];
}

describe("the documented verification", () => {
  test("in JavaScript accepts genuine messages, and refuses others without an exception", async () => {
    const file = path.join(folder, "verify.mjs");
    writeFileSync(file, snippet("js"));
    const { verify } = await import(pathToFileURL(file).href);
    for (const [what, headers, genuine] of cases)
      expect(verify(secret, headers, Buffer.from(body)), what).toBe(genuine);
  });

  test("in Python accepts genuine messages, and refuses others without an exception", () => {
    const program = `${snippet("python")}
import json, sys
given = json.load(sys.stdin)
print(json.dumps([verify(given["secret"], headers, given["body"].encode()) for headers in given["cases"]]))`;
    const input = JSON.stringify({ secret, body, cases: cases.map(([, headers]) => headers) });
    const answer = execFileSync("python3", ["-c", program], { input, encoding: "utf8" });
    expect(JSON.parse(answer)).toEqual(cases.map(([, , genuine]) => genuine));
  });
});

describe.each([
  ["node", process.execPath, "docs/examples/webhook-receiver.mjs"],
  ["python3", "python3", "docs/examples/python/webhook_receiver.py"],
])("the receiver for %s", (_name, command, file) => {
  let url = "";
  beforeAll(async () => {
    const program = spawn(command, [file, "0"], {
      env: { PATH: process.env.PATH, NODE_ENV: "production", WEBHOOK_SECRET: secret },
      stdio: ["ignore", "pipe", "inherit"],
    });
    programs.push(program);
    const [line] = await once(program.stdout.setEncoding("utf8"), "data");
    url = JSON.parse(line).listening;
  });

  test("answers 204 to genuine messages and 401 to others", async () => {
    for (const [what, headers, genuine] of cases) {
      const answer = await fetch(url, { method: "POST", headers, body });
      expect(answer.status, what).toBe(genuine ? 204 : 401);
    }
  });
});
