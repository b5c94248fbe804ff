import { expect, test } from "vitest";
import { NamedFiles } from "./named-files";

function named(...files: Parameters<NamedFiles["add"]>[0][]) {
  const list = new NamedFiles();
  for (const file of files) list.add(file);
  return list.all;
}

test("a file within the limits is kept as named", () => {
  const file = { name: "é".repeat(200), path: "p".repeat(4096), contentType: "text/plain" };
  expect(named(file)).toEqual([file]);
});

test.each([
  [{ name: "n".repeat(201), path: "p" }, { name: "n".repeat(200), path: "p" }, "more than 200 characters"],
  [{ name: "a\nb", path: "p" }, { name: "a\nb", path: "p" }, "control or invisible"],
  [{ name: "", path: "" }, { name: "", path: "" }, "no name"],
  [{ name: "n", path: "é".repeat(2049) }, { name: "n", path: "" }, "path that is too long"],
  [{ name: "n", path: "p", contentType: "t".repeat(251) }, { name: "n", path: "p" }, "content type that is too long"],
])("a file beyond the limits is kept with the reason (%#)", (file, kept, problem) => {
  expect(named(file)).toEqual([{ ...kept, problem: expect.stringContaining(problem) }]);
});

test("more files than allowed by number or total size are refused with one entry, and the first ones are kept", () => {
  const small = named(...Array.from({ length: 1500 }, (_, n) => ({ name: `${n}`, path: `${n}` })));
  expect(small).toHaveLength(1001);
  expect(small.slice(0, 1000).every(({ problem }) => problem === undefined)).toBe(true);
  expect(small.at(-1)).toEqual({ name: "1000", path: "", problem: "too many files are named" });
  const large = named(...Array.from({ length: 999 }, (_, n) => ({ name: `${n}`, path: `${n}`.padEnd(4000, "a") })));
  expect(large.length).toBeLessThan(200);
  expect(large.filter(({ problem }) => problem !== undefined)).toEqual([large.at(-1)]);
});
