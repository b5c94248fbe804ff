import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { CLASS_POLICIES, type ClassPolicy, errorClassOf, RETRY_CLASSES } from "./error-classes";

function documented(): Record<string, ClassPolicy> {
  const text = readFileSync("docs/retries.md", "utf8");
  const rows = [...text.matchAll(/^\| `([a-z_]+)` \| (yes|no) \|([^|]*)\|([^|]*)\|([^|]*)\|([^|]*)\|([^|\n]*)\|$/gm)];
  const figure = (name: keyof ClassPolicy, cell = "") => (/\d/.test(cell) ? { [name]: Number(cell) } : {});
  return Object.fromEntries(
    rows.map(([, name, again, first, factor, longest, attempts, cause]) => [
      name,
      {
        retryable: again === "yes",
        ...figure("delay_seconds", first),
        ...figure("multiplier", factor),
        ...figure("max_delay_seconds", longest),
        ...figure("max_attempts", attempts),
        ...figure("timeout_multiplier", /limit ([\d.]+) times/.exec(cause ?? "")?.[1]),
      },
    ]),
  );
}

test("A-07 docs/retries.md lists every class with its built-in policy", () => {
  expect(documented()).toEqual(CLASS_POLICIES);
});

test("A-07 a definition can set the policy of every class but the two that the work does not cause", () => {
  expect([...RETRY_CLASSES, "command_not_allowed", "worker_lost"].toSorted()).toEqual(
    Object.keys(CLASS_POLICIES).toSorted(),
  );
});

test("an unknown class name counts as unknown, even if every object has such a property", () => {
  expect(["oops", "toString", "__proto__", ""].map(errorClassOf)).toEqual(Array(4).fill("unknown"));
  expect(errorClassOf("rate_limit")).toBe("rate_limit");
});
