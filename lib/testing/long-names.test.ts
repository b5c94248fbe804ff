import { expect, test } from "vitest";
import { scanJson } from "@/lib/contract";
import { cleanResult } from "@/lib/execution/output/clean-result";
import { asExactJson, parseCaptured } from "@/lib/execution/output/exact-json";
import { secretForms } from "@/lib/execution/output/secret-forms";
import { bounded } from "@/lib/queue/definitions/arg-schema.fixture";
import { compileArgSchema } from "@/lib/queue/definitions/arg-schema.policy";
import { compileTemplate } from "@/lib/queue/dependencies/template.policy";
import { checkPayload } from "@/lib/queue/enqueue/payload-check.policy";
import { contentKey } from "@/lib/queue/events/content-key.policy";
import { compileTriggerTemplate, renderTriggerTemplate } from "@/lib/queue/triggers/trigger-template.policy";
import { expectLinear } from "./measure/growth";

const CONTEXT = { schedule: { at: "a", local: "b", trigger_id: "c", label: "d" }, trigger: { id: "c", label: "d" } };
const report = () => {};
const items = { type: "array", items: { anyOf: [{ type: "number" }, { type: ["string", "object"] }] } };
const validate = compileArgSchema({ additionalProperties: { ...items, type: ["array", "object"] } });

/** Functions that read a value of a request, a result or a template, part by part. */
const READERS: Readonly<Record<string, (value: unknown, text: string) => unknown>> = {
  scanJson: (_, text) => scanJson(text),
  parseCaptured: (_, text) => parseCaptured(text, report),
  checkPayload: (value) => checkPayload([value, undefined]),
  contentKey,
  asExactJson,
  cleanResult: (value) => cleanResult(value, secretForms(["supersecretvalue"]), report),
  "the template of a trigger": (value) => {
    const compiled = compileTriggerTemplate(value, "schedule");
    return "template" in compiled ? renderTriggerTemplate(compiled.template, CONTEXT) : null;
  },
  "the template of a job that waits": (value) => JSON.stringify(compileTemplate(value, new Map([["p", 1]])).bindings),
};

/** Values below the long name, as JSON. */
const PARTS = ['{"data":{}}', '{"payload":[1]}', '"password=a"', '"\\ud800"', "1e999", "null"];
const PLACEHOLDERS = ['"{{schedule.at}}"', '"{{parents.p.status}}"', '"{{schedule.at}}{{schedule.local}}"'];

const below = (name: string, parts: readonly string[], isList: boolean): string => {
  const named = JSON.stringify(name);
  if (isList) return `{${named}:[${parts.join(",")}]}`;
  return `{${named}:{${parts.map((part, at) => `"${at}":${part}`).join(",")}}}`;
};

const shapes = [...PARTS, ...PLACEHOLDERS].flatMap((part) =>
  [true, false].map((isList) => ({
    name: `${part} in ${isList ? "a list" : "an object"}`,
    make: (characters: number) => {
      const many = Array.from({ length: Math.floor(characters / 2 / (part.length + (isList ? 1 : 8))) }, (_, at) =>
        // A template has at most 1,000 placeholders.
        PLACEHOLDERS.includes(part) && at % 8 > 0 ? "1" : part,
      );
      return below("~".repeat(characters / 2), many, isList);
    },
  })),
);

test.each(Object.entries(READERS))("%s: a long name costs once, for any number of values below it", (name, read) => {
  for (const shape of shapes)
    expectLinear(`${name} of ${shape.name} below a long name`, shape.make, {
      read: (text) => read(JSON.parse(text), text),
    });
  expect(shapes).toHaveLength(18);
});

test("a compiled argument schema counts long names, so that a check takes no longer than others", () => {
  for (const { name, make } of shapes)
    for (const characters of [8192, 65_536, 262_144]) {
      const value = JSON.parse(make(characters));
      bounded(`${name} below a long name, ${characters} characters`, () => validate(value));
    }
});
