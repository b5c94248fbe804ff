import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { MASK } from "./patterns";
import { redactText, StreamRedactor } from "./redactor";
import { refusedSecrets, secretForms } from "./secret-forms";
import { StreamCapture } from "./stream-capture";

function streamed(pieces: readonly string[], secrets: readonly string[]): string {
  const redactor = new StreamRedactor(secretForms(secrets));
  return pieces.map((piece) => redactor.push(piece)).join("") + redactor.flush();
}

const cutAt = (text: string, at: number) => [text.slice(0, at), text.slice(at)];
const SECRET = "hunter2-Zürich/+=?";

test.each([
  ["AKIAIOSFODNN7EXAMPLE"],
  [`ghp_${"a1".repeat(18)}`],
  ["xoxb-123456789012-abcdef"],
  [`sk_live_${"z9".repeat(12)}`],
  [`lhk_live_${"a".repeat(12)}_${"B".repeat(43)}_abc123`],
  [`whsec_${"c".repeat(32)}`],
])("RD-3 an unmistakable credential is masked when output is stored: %s", (text) => {
  expect(redactText(`before ${text} after`, secretForms([]))).toBe(`before ${MASK} after`);
});

test("RD-5 SECRETS-01 a secret split at any offset never appears", () => {
  const text = `line one\nbefore ${SECRET} after\nlast`;
  for (let at = 0; at <= text.length; at += 1) {
    expect(streamed(cutAt(text, at), [SECRET])).toBe(`line one\nbefore ${MASK} after\nlast`);
  }
  expect(streamed([...text], [SECRET])).toBe(`line one\nbefore ${MASK} after\nlast`);
});

test("RD-5 a secret next to UTF-8 split inside a character is masked on the whole path", () => {
  const bytes = Buffer.from(`x ${SECRET} y\n`);
  for (let at = 0; at <= bytes.length; at += 1) {
    const capture = new StreamCapture(secretForms([SECRET]), () => undefined);
    capture.push(bytes.subarray(0, at));
    capture.push(bytes.subarray(at));
    expect(capture.finish().tail).toBe(`x ${MASK} y\n`);
  }
});

test("RD-5 long secrets and a newline at 16 KiB inside one are masked", () => {
  const long = createHash("sha512").update("seed").digest("hex").repeat(40);
  const withNewline = `${"q1w2e3r4".repeat(2048)}\n${"t5z6u7i8".repeat(600)}`;
  for (const secret of [long, withNewline]) {
    for (const size of [4096, 16_384, 70_000]) {
      const text = `a\n${secret}\nb\n`;
      const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? [];
      expect(streamed(pieces, [secret])).toBe(`a\n${MASK}\nb\n`);
    }
  }
});

test("RD-5 overlapping secrets are masked as one", () => {
  const text = "see abcdefghijkl and more\n";
  for (let at = 0; at <= text.length; at += 1) {
    expect(streamed(cutAt(text, at), ["abcdefgh", "fghijkl"])).toBe(`see ${MASK} and more\n`);
  }
});

test("RD-5 SECRETS-01 a secret at the end, complete or cut off by a kill, does not appear", () => {
  expect(streamed(["token is ", SECRET], [SECRET])).toBe(`token is ${MASK}`);
  for (let length = 4; length < SECRET.length; length += 1) {
    const shown = streamed([`x ${SECRET.slice(0, length)}`], [SECRET]);
    expect(shown).toBe(`x ${MASK}`);
  }
});

test("SECRETS-01 a private key is masked as a block, even if it never ends", () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${"MIIEow/IBAAK+CAQ\n".repeat(50)}-----END RSA PRIVATE KEY-----`;
  const text = `a\n${key}\nb\n`;
  for (let at = 0; at <= text.length; at += 7) expect(streamed(cutAt(text, at), [])).toBe(`a\n${MASK}\nb\n`);
  const endless = `a\n-----BEGIN PRIVATE KEY-----\n${"MIIEow/IBAAK+CAQ\n".repeat(20_000)}`;
  expect(streamed(endless.match(/[\s\S]{1,5000}/g) ?? [], [])).toMatch(/^a\n(\[redacted\])+$/);
});

test("SECRETS-01 the start of the tail never contains a part of a secret", () => {
  const capture = new StreamCapture(secretForms([SECRET]), () => undefined);
  for (let index = 0; index < 4000; index += 1)
    capture.push(Buffer.from(`${"x".repeat(index % 90)} ${SECRET} ${"y".repeat(80)}\n`));
  const { tail } = capture.finish();
  for (let at = 0; at + 4 <= SECRET.length; at += 1) {
    expect(tail).not.toContain(SECRET.slice(at, at + 4));
  }
});

test("SECRETS-03 values too short to be masked are refused as secrets and mask nothing", () => {
  const log = `{"ok": true, "n": 1}\na\nb\n`;
  for (const short of ["", " ", "1", "{", "yes", "a\nb", "       ", " ab "]) {
    expect(refusedSecrets(["long enough", short])).toMatch(/at least 4 characters/);
    expect(streamed([log], [short])).toBe(log);
  }
  expect(refusedSecrets(["1234", "long enough"])).toBeNull();
});

test("RD-4 complete lines are passed on at once, an incomplete one waits", () => {
  const redactor = new StreamRedactor(secretForms([SECRET]));
  expect(redactor.push("one\ntw")).toBe("one\n");
  expect(redactor.push("o\r")).toBe("two\r");
  expect(redactor.push("three")).toBe("");
  expect(redactor.flush()).toBe("three");
});

test("RD-4 random texts in random chunks: no secret appears, nothing else changes", { timeout: 20_000 }, () => {
  let state = 7;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const secrets = ["alpha-secret-1", "br@vo\nsecret two", "charlie/secret?3", "delta$ecret4"];
  const forms = secretForms(secrets);
  for (let round = 0; round < 2000; round += 1) {
    const words = Array.from({ length: 1 + random(30) }, () =>
      random(4) === 0 ? (secrets[random(4)] ?? "") : "w".repeat(random(9)),
    );
    const text = words.join(random(2) ? " " : "\n");
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const size = 1 + random(97);
      pieces.push(text.slice(at, at + size));
      at += size;
    }
    const redactor = new StreamRedactor(forms);
    const shown = pieces.map((piece) => redactor.push(piece)).join("") + redactor.flush();
    expect(shown).toBe(redactText(text, forms));
    for (const secret of secrets) expect(shown).not.toContain(secret);
  }
});

test("RD-4 an endless line is passed on in parts and masked", () => {
  const text = `${"z".repeat(30_000)} ${SECRET} ${"y".repeat(30_000)}`;
  expect(streamed(text.match(/.{1,1000}/g) ?? [], [SECRET])).toBe(text.replace(SECRET, MASK));
});
