import { expect, test } from "vitest";
import { structure } from "./structure.mjs";

const found = structure();

test("folders have at most 20 source files directly in them, and files at most 300 lines", () => {
  expect(found.fullFolders).toEqual([]);
  expect(found.longFiles).toEqual([]);
});

// Bounds that only ever fall.
test("few functions except React components and hooks are longer than 50 lines", () => {
  expect(found.longFunctions.filter(({ isReact }) => !isReact).length).toBeLessThanOrEqual(4);
  expect(found.longFunctions.length).toBeLessThanOrEqual(44);
});

test("few exported names are defined in more than one file", () => {
  expect(found.twiceDefined.length).toBeLessThanOrEqual(29);
});

test("each SQL function has one definition", () => {
  expect(found.sqlFunctionsTwice).toEqual([]);
});
