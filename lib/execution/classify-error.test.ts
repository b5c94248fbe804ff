import { expect, test } from "vitest";
import { outcomeOfError } from "./classify-error";
import { secretForms } from "./output/secret-forms";

test("the stack of a handler's error says which line it was, and not where on the server the installation lies", () => {
  const outcome = outcomeOfError(new Error("no disk"), secretForms([]));
  const stack = outcome.kind === "failed" ? outcome.stack : undefined;
  expect(stack).toContain("lib/execution/classify-error.test.ts:");
  expect(stack).not.toContain(process.cwd());
});
