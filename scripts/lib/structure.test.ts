import { expect, test } from "vitest";
import { structure } from "./structure.mjs";

const found = structure();

test("no folder has more than 20 source files directly in it, and no file more than 300 lines", () => {
  expect(found.fullFolders).toEqual([]);
  expect(found.longFiles).toEqual([]);
});

test("only components of React are longer than 50 lines", () => {
  expect(found.longFunctions.filter(({ isReact }) => !isReact)).toEqual([]);
});

test("each SQL function has one text", () => {
  expect(found.sqlFunctionsTwice).toEqual([]);
});
