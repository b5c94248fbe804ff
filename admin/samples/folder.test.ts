import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeSamples } from "./folder";

const root = path.join(mkdtempSync(path.join(tmpdir(), "leasehold-samples-")), "acme");
const files = () =>
  readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) => lstatSync(path.join(root, name)).isFile());

beforeAll(() => writeSamples(root, "large"));
afterAll(() => rmSync(path.dirname(root), { recursive: true, force: true }));

test("the samples are a few hundred nested files with names of every kind", () => {
  const names = files();
  expect(names.length).toBeGreaterThan(250);
  for (const part of ["\n", '"', "'", "📷", "\t", "/-rf ", "$(", "é", "/h/"]) {
    expect(
      names.some((name) => name.includes(part)),
      JSON.stringify(part),
    ).toBe(true);
  }
  expect(lstatSync(path.join(root, "link to notes")).isSymbolicLink()).toBe(true);
});

test("the sample pictures are valid: their pixels unpack to the size in their header", () => {
  for (const name of files().filter((file) => file.endsWith(".png"))) {
    const data = readFileSync(path.join(root, name));
    expect(data.subarray(0, 8).toString("latin1")).toBe("\x89PNG\r\n\x1a\n");
    const side = data.readUInt32BE(16);
    const pixelsAt = data.indexOf("IDAT");
    const pixels = data.subarray(pixelsAt + 4, pixelsAt + 4 + data.readUInt32BE(pixelsAt - 4));
    expect(inflateSync(pixels)).toHaveLength(side * (1 + side * 3));
    expect(data.subarray(-12).toString("hex")).toBe("0000000049454e44ae426082");
  }
});

test("writing the samples again keeps existing files", () => {
  const before = files().map((name) => lstatSync(path.join(root, name)).mtimeMs);
  writeSamples(root, "large");
  expect(files().map((name) => lstatSync(path.join(root, name)).mtimeMs)).toEqual(before);
});
