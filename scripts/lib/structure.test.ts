import { expect, test } from "vitest";
import { phrasesIn, structure, withoutUnixUser } from "./structure.mjs";

const found = structure();

test("folders have at most 20 source files directly in them, and files at most 300 lines", () => {
  expect(found.fullFolders).toEqual([]);
  expect(found.longFiles).toEqual([]);
});

test("no function is longer than 50 lines", () => {
  expect(found.longFunctions).toEqual([]);
});

test("no exported name is defined in more than one file", () => {
  expect(found.twiceDefined).toEqual([]);
});

test("each SQL function has one definition", () => {
  expect(found.sqlFunctionsTwice).toEqual([]);
});

test("no file contains a phrase that hides its subject", () => {
  expect(found.worstPhrases).toEqual([]);
});

test("a phrase is reported with what to write instead, and the Unix user nobody is not", () => {
  const found = (line: string) => phrasesIn(withoutUnixUser("a.ts", line));
  expect(found("// The lease is not held any more.")).toEqual(['"any more", write instead: no longer']);
  expect(found("// Nobody waits.")).toHaveLength(1);
  expect(found('"nobody waits"')).toHaveLength(1);
  for (const line of ['name: "nobody"', 'startsWith("nobody:")', "runs as `nobody`", "NOBODY"])
    expect(found(line)).toEqual([]);
});
