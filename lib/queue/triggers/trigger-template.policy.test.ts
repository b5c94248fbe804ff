import { expect, test } from "vitest";
import type { TriggerKind } from "../types";
import {
  compileTriggerTemplate,
  type EventContext,
  type Rendered,
  renderTriggerTemplate,
  renderTriggerText,
} from "./trigger-template.policy";

const META = {
  id: "0192d5a0-0000-7000-8000-000000000001",
  name: "image.added",
  received_at: "2026-03-01T12:00:00.000Z",
  producer_id: null,
  correlation_id: "c-1",
  source: "api",
};
const TRIGGER = { id: "0192d5a0-0000-7000-8000-000000000002", label: "Resync" };
const about = (event: unknown): EventContext => ({ event, meta: META, trigger: TRIGGER });

function compile(template: unknown, kind: TriggerKind = "event") {
  const compiled = compileTriggerTemplate(template, kind);
  if ("problems" in compiled) throw new Error(JSON.stringify(compiled.problems));
  return compiled.template;
}

function payloadOf(rendered: Rendered) {
  return "problems" in rendered ? rendered : { payload: rendered.payload };
}

const render = (template: unknown, event: unknown) => payloadOf(renderTriggerTemplate(compile(template), about(event)));

test("TEMPLATE-01 a value that is only a placeholder keeps its type; in mixed text objects become JSON", () => {
  const event = { n: 3, o: { a: 1 }, l: [], b: false, z: null, e: "", zero: 0 };
  const template = {
    n: "{{event.n}}",
    o: "{{event.o}}",
    l: "{{ event.l }}",
    b: "{{event.b}}",
    z: "{{event.z}}",
    e: "{{event.e}}",
    zero: "{{event.zero}}",
    s: "n={{event.n}} o={{event.o}}",
    t: "{{event.b}}/{{event.z}}/{{event.e}}/{{event.zero}}",
    all: "{{event}}",
    fixed: [1, { a: null }],
  };
  expect(render(template, event)).toEqual({
    payload: { ...event, s: 'n=3 o={"a":1}', t: "false/null//0", all: event, fixed: [1, { a: null }] },
  });
});

test("placeholders can use paths, indexes, meta, trigger and schedule", () => {
  const template = [
    "{{event.rows[1].name}}",
    "{{event.rows.0.name}}",
    "{{meta.name}} {{meta.id}}",
    "{{trigger.label}}",
  ];
  expect(render(template, { rows: [{ name: "a" }, { name: "b" }] })).toEqual({
    payload: ["b", "a", `image.added ${META.id}`, "Resync"],
  });
  const scheduled = compile({ at: "{{schedule.at}}", local: "on {{schedule.local}}" }, "schedule");
  const schedule = {
    at: "2026-03-01T02:00:00Z",
    local: "2026-02-28T21:00:00",
    trigger_id: TRIGGER.id,
    label: "Resync",
  };
  expect(payloadOf(renderTriggerTemplate(scheduled, { schedule, trigger: TRIGGER }))).toEqual({
    payload: { at: schedule.at, local: "on 2026-02-28T21:00:00" },
  });
});

test("a missing value is an error with a pointer, unless there is a default", () => {
  const template = {
    a: { b: ["x {{event.q}}"] },
    c: "{{event.q.r | default: [1]}}",
    d: "{{meta.producer_id | default: 1}}",
  };
  expect(render(template, {})).toEqual({
    problems: [{ pointer: "/a/b/0", code: "template", detail: "there is no value at event.q" }],
  });
  expect(render(template, { q: "y" })).toEqual({ payload: { a: { b: ["x y"] }, c: [1], d: null } });
  expect(render('{{event.q | default: "}}"}}', {})).toEqual({ payload: "}}" });
  const fallback = { a: { "}}": ['\\"}}', {}] } };
  expect(render(`{{event.q | default: ${JSON.stringify(fallback)}}}`, {})).toEqual({ payload: fallback });
});

test("TEMPLATE-03 only own properties are read, others are missing", () => {
  const event = JSON.parse('{"x":"abc","l":[1],"o":{}}') as unknown;
  for (const path of [
    "__proto__.polluted",
    "constructor.constructor",
    "x.length",
    "toString",
    "l.length",
    "o.__proto__",
    "x.0",
  ])
    expect(render(`{{event.${path}}}`, event), path).toEqual({
      problems: [{ pointer: "", code: "template", detail: `there is no value at event.${path}` }],
    });
  const polluting = JSON.parse('{"__proto__":{"a":1}}') as unknown;
  const made = render(JSON.parse('{"__proto__":{"b":"{{event.__proto__.a}}"}}'), polluting);
  expect(JSON.stringify(made)).toBe('{"payload":{"__proto__":{"b":1}}}');
  expect(Object.getPrototypeOf((made as { payload: object }).payload)).toBe(Object.prototype);
  expect(({} as { a?: unknown; b?: unknown }).a).toBeUndefined();
});

test("TEMPLATE-05 text is inserted unchanged", () => {
  const s = '<b>"A&B"</b> \\n';
  expect(render({ whole: "{{event.s}}", mixed: "> {{event.s}}" }, { s })).toEqual({
    payload: { whole: s, mixed: `> ${s}` },
  });
});

test("TEMPLATE-06 values of an event are inserted as text in one pass, also with patterns of String.replace", () => {
  const event = { note: "{{secrets.DB}} {{event.other}} $& $1 $$ $`", other: "secret" };
  const rendered = render({ n: "Note: {{event.note}}", w: "{{event.note}}" }, event);
  expect(rendered).toEqual({ payload: { n: `Note: ${event.note}`, w: event.note } });
  expect(render('{{"{{event.other}}"}} {{event.note}}', event)).toEqual({
    payload: `{{event.other}} ${event.note}`,
  });
});

test.each([
  ["{{event.a", "has {{ without }}"],
  ['{{event.a | default: "}}', "has {{ without }}"],
  ['{{event.a | default: {"b": 1 }}', "has {{ without }}"],
  ["{{secrets.DB}}", "reads something other than event, meta, trigger"],
  ["{{parents.a.result}}", "reads something other than"],
  ["{{schedule.at}}", "reads something other than"],
  ["{{meta.secret}}", "names none of meta.id"],
  ["{{trigger.label.x}}", "names none of trigger.id"],
  ["{{event.a b}}", "has a placeholder that is not"],
  ["{{event..a}}", "has a path"],
  ["{{event.a[x]}}", "has a path"],
  ["{{}}", "has a placeholder that is not"],
  ["{{event.a | default: x}}", "has a default that is not JSON"],
  ["{{event.a | defualt: 1}}", "has a placeholder that is not"],
  ['{{event.a | default: "\\u0000"}}', "has a default that contains a NUL"],
])("refused when saved: %s", (text, detail) => {
  expect(compileTriggerTemplate({ a: [text] }, "event")).toEqual({
    problems: [{ pointer: "/a/0", code: "template", detail: expect.stringContaining(detail) }],
  });
});

test("PAYLOAD-01 a value that cannot be stored is refused in a template too", () => {
  expect(compileTriggerTemplate({ a: "x\u0000" }, "event")).toMatchObject({
    problems: [{ pointer: "/a", code: "nul" }],
  });
});

test("a template cannot multiply an event without limit", () => {
  const copies = Array.from({ length: 900 }, () => "{{event.s}}!");
  expect(render(copies, { s: "x".repeat(200_000) })).toMatchObject({ problems: [{ pointer: "", code: "too-large" }] });
});

test.each([
  ["quotes that nothing closes", '{{"', '\\"'],
  ["a text that is cut off behind ends", '{{event.a | default: "', "}}"],
  ["ends within a default that is not over", '{{event.a | default: {"a":', '["}}",{"b":1}],'],
  ["beginnings", "", "{{"],
])("the longest text is parsed in a few milliseconds, whatever it contains: %s", (_, head, bit) => {
  const text = head + bit.repeat(250_000 / bit.length);
  const began = process.cpuUsage();
  expect(compileTriggerTemplate({ a: text }, "event")).toHaveProperty("problems");
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1000).toBeLessThan(500);
});

test("a dedupe key is text for any type of value", () => {
  const key = (template: string, event: unknown) => renderTriggerText(compile(template), about(event), 512);
  expect(key("{{event.n}}", { n: 3 })).toEqual({ text: "3" });
  expect(key("sync:{{event.o}}", { o: { a: 1 } })).toEqual({ text: 'sync:{"a":1}' });
  expect(key("sync:{{event.q}}", {})).toMatchObject({ problems: [{ code: "template" }] });
  expect(key("sync:{{event.t}}", { t: "x".repeat(600) })).toEqual({ tooLong: 605 });
});

test.each(["event", "schedule"] as const)("a placeholder in a key is refused with its pointer: %s", (kind) => {
  for (const [template, pointer] of [
    [{ "{{event.name}}": 1 }, "/{{event.name}}"],
    [{ list: [{ "a {{ b/c": null }] }, "/list/0/a {{ b~1c"],
    [{ "{{": { fine: 1 } }, "/{{"],
  ] as const)
    expect(compileTriggerTemplate(template, kind)).toMatchObject({ problems: [{ pointer, code: "template" }] });
});

test("returns the first ten pointers with a missing value", () => {
  const rendered = renderTriggerTemplate(compile(["{{event.x}}".repeat(500)]), about({}));
  expect("problems" in rendered && rendered.problems.map(({ pointer }) => pointer)).toEqual(Array(10).fill("/0"));
});

test("too large payloads are refused at once: the values of an event are measured once for all templates", () => {
  const wide = Object.fromEntries(Array.from({ length: 4900 }, (_, n) => [`k${n}`, n]));
  const long = Array.from({ length: 9000 }, (_, n) => `${n}`);
  const many = compile(Array.from({ length: 10 }, () => "{{event.wide}}"));
  const large = compile(Array.from({ length: 40 }, () => "a {{event.long}}"));
  const context = about({ wide, long });
  const refuse = (count: number) => {
    const began = process.cpuUsage();
    for (let n = 0; n < count; n += 1) {
      expect(renderTriggerTemplate(many, context)).toMatchObject({ problems: [{ code: "too-many-nodes" }] });
      expect(renderTriggerTemplate(large, context)).toMatchObject({ problems: [{ code: "too-large" }] });
    }
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
  refuse(1);
  expect(refuse(200)).toBeLessThan(500);
});
