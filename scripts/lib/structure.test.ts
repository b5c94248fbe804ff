import { expect, test } from "vitest";
import { structure } from "./structure.mjs";

const found = structure();

test("no folder has more than 20 source files directly in it, and no file more than 300 lines", () => {
  expect(found.fullFolders).toEqual([]);
  expect(found.longFiles).toEqual([]);
});

// Bounds that only ever fall.
test("few functions but components and hooks of React are longer than 50 lines", () => {
  expect(found.longFunctions.filter(({ isReact }) => !isReact).length).toBeLessThanOrEqual(4);
  expect(found.longFunctions.length).toBeLessThanOrEqual(44);
});

test("few exported names are defined in more than one file", () => {
  expect(found.twiceDefined.length).toBeLessThanOrEqual(29);
});

test("each SQL function has one text", () => {
  expect(found.sqlFunctionsTwice).toEqual([]);
});
