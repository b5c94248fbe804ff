import fc from "fast-check";
import { expect, test } from "vitest";
import { nextInstant, readSchedule } from "@/lib/queue/schedules/rules";
import { cron, instants, refusal, ruleOf } from "./rules.fixture";

/** The code and text of the problem with an expression, without the prefix. */
const fault = (expr: string): [string, string] => {
  const { pointer, code, detail } = refusal(expr);
  expect(pointer).toBe("/cron_expr");
  return [code, detail];
};

test("CRON-25 CRON-06 a number of fields other than five is refused with the number found", () => {
  const cases: [string, string][] = [
    ["* 10 5 * * *", "6 fields"],
    ["*/10 * * * * *", "6 fields"],
    ["0 0 12 * * ? 2027", "7 fields"],
    ["* * * *", "4 fields"],
    ["5", "1 field;"],
    [Array(200).fill("*").join(" "), "200 fields"],
  ];
  for (const [expr, found] of cases) expect(fault(expr), expr).toEqual(["cron-fields", expect.stringContaining(found)]);
  for (const expr of ["", " ", "   "]) expect(fault(expr)).toEqual(["cron-fields", expect.stringContaining("empty")]);
});

test("CRON-26 the documented aliases are accepted, in the trigger's zone and in lower case", () => {
  const next = (alias: string): string | undefined =>
    instants(cron(alias, "America/New_York"), "2026-07-15T12:30:00Z", 1)[0];
  expect(next("@hourly")).toBe("2026-07-15T13:00Z");
  expect(next("@daily")).toBe("2026-07-16T04:00Z");
  expect(next("@midnight")).toBe("2026-07-16T04:00Z");
  expect(next("@weekly")).toBe("2026-07-19T04:00Z");
  expect(next("@monthly")).toBe("2026-08-01T04:00Z");
  expect(next("@yearly")).toBe("2027-01-01T05:00Z");
  expect(next("@annually")).toBe("2027-01-01T05:00Z");
  for (const alias of [
    "@reboot",
    "@every 5m",
    "@Hourly",
    "@HOURLY",
    "@",
    "@secondly",
    "@weekdays",
    "@daily *",
    "@toString",
  ]) {
    expect(fault(alias)[0], alias).toBe("cron-alias");
  }
});

test("CRON-26 @daily comes once on a day without a midnight", () => {
  expect(instants(cron("@daily", "Africa/Cairo"), "2026-04-22T22:00:00Z", 3)).toEqual([
    ...["2026-04-23T22:00Z", "2026-04-24T21:00Z", "2026-04-25T21:00Z"],
  ]);
});

test("CRON-28 a range that runs backwards is refused, and the suggested form is correct", () => {
  for (const expr of [
    "0 22-2 * * *",
    "0 9 * * 5-1",
    "0 9 * * FRI-MON",
    "58-2/2 * * * *",
    "0 0 28-3 * *",
    "0 0 1 11-2 *",
    "0 0 * * 7-2",
  ]) {
    expect(fault(expr), expr).toEqual(["cron-range", expect.stringContaining("backwards")]);
  }
  expect(instants(cron("0 22-23,0-2 * * *"), "2026-01-01T12:00:00Z", 6).map((at) => at.slice(8, 13))).toEqual([
    ...["01T22", "01T23", "02T00", "02T01", "02T02", "02T22"],
  ]);
});

test("steps need * or a range and must fit into it", () => {
  expect(instants(cron("*/20 * * * *"), "2026-01-01T00:00:00Z", 3).map((at) => at.slice(14, 16))).toEqual([
    "20",
    "40",
    "00",
  ]);
  expect(instants(cron("10-40/15 * * * *"), "2026-01-01T00:00:00Z", 4).map((at) => at.slice(14, 16))).toEqual([
    ...["10", "25", "40", "10"],
  ]);
  expect(instants(cron("0 0 * JAN-DEC/5 *"), "2026-02-01T00:00:00Z", 1)).toEqual(["2026-06-01T00:00Z"]);
  for (const expr of ["*/0 * * * *", "*/60 * * * *", "*/90 * * * *", "5/15 * * * *", "1-5/10 * * * *", "0 0 * * */7"]) {
    expect(fault(expr)[0], expr).toBe("cron-step");
  }
});

test("names are those of months and weekdays, three letters in any case", () => {
  expect(instants(cron("0 0 1 feb,Nov *"), "2026-01-01T00:00:00Z", 2)).toEqual([
    "2026-02-01T00:00Z",
    "2026-11-01T00:00Z",
  ]);
  for (const expr of ["0 0 1 FOO *", "0 0 1 MON *", "0 0 * * JAN", "0 MON * * *", "0 0 * * constructor"]) {
    expect(fault(expr)[0], expr).toBe("cron-syntax");
  }
});

test("values outside a field's bounds are refused, with the field's name", () => {
  for (const [expr, field] of [
    ["60 * * * *", "minute"],
    ["0 24 * * *", "hour"],
    ["0 0 0 * *", "day of month"],
    ["0 0 32 * *", "day of month"],
    ["0 0 1 0 *", "month"],
    ["0 0 1 13 *", "month"],
    ["0 0 * * 8", "day of week"],
    ["000 0 * * *", "minute"],
  ] as const) {
    expect(fault(expr), expr).toEqual(["cron-range", expect.stringContaining(`the ${field} field`)]);
  }
});

test("H, ? and malformed items are refused, with the field's name", () => {
  for (const [expr, field] of [
    ["H 9 * * *", "minute"],
    ["0 H(1-5) * * *", "hour"],
    ["0 9 ? * 1", "day of month"],
    ["0 9 * * 1?", "day of week"],
    ["0 9,, * * *", "hour"],
    ["0 9 *,5 * *", "day of month"],
    ["-5 * * * *", "minute"],
    ["1-2-3 * * * *", "minute"],
    ["1.5 * * * *", "minute"],
    ["*/ * * * *", "minute"],
    ["0x5 * * * *", "minute"],
    ["0 ** * * *", "hour"],
  ] as const) {
    const [code, detail] = fault(expr);
    expect(["cron-unsupported", "cron-syntax"], expr).toContain(code);
    expect(detail, expr).toContain(`the ${field} field`);
  }
});

test("CRON-33 blanks around and between fields are accepted; any other space, line break or digit is refused", () => {
  expect(ruleOf({ cron_expr: "  0   9 * * *  " })).toMatchObject({ expr: "0 9 * * *" });
  for (const expr of [
    "0\u00a09 * * *",
    "0\t9 * * *",
    "0 9 * * *\n* * * * *",
    "0 9 * * *\n",
    "\u20280 9 * * *",
    "0 9 * * *\0",
  ]) {
    expect(fault(expr)[0], JSON.stringify(expr)).toBe("cron-blank");
  }
  for (const expr of [
    "\uff10 9 * * *",
    "0 \u0669 * * *",
    "0 9 \u2217 * *",
    "0 9 * * \uff2d\uff2f\uff2e",
    "\u200b0 9 * * *",
  ]) {
    expect(fault(expr)[0], JSON.stringify(expr)).toBe("cron-syntax");
  }
});

test("any input is parsed at once, into a rule or into errors that contain none of it", () => {
  const piece = fc.constantFrom(
    "*",
    "*/",
    "5",
    "59",
    "60",
    "-",
    "/",
    ",",
    "#",
    "L",
    "W",
    "?",
    "H",
    "MON",
    "jan",
    " ",
    " ",
    " ",
    "@daily",
    "\n",
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join("")),
  );
  fc.assert(
    fc.property(text, (cronExpr) => {
      const { rule, problems } = readSchedule({ cron_expr: cronExpr, timezone: "UTC" });
      if (rule) expect(nextInstant(rule, new Date("2026-01-01T00:00:00Z"))).not.toBeNull();
      else expect(problems).toHaveLength(1);
    }),
    { numRuns: 500 },
  );
  const began = performance.now();
  const long = ["1,".repeat(100_000), "* ".repeat(100_000), "9".repeat(200_000), `0 0 ${"1-5/2,".repeat(50_000)}1 * *`];
  for (const expr of long) {
    expect(fault(expr)[1].length).toBeLessThan(300);
  }
  expect(performance.now() - began).toBeLessThan(2000);
});
