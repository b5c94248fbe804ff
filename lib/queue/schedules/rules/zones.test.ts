import { afterEach, expect, test } from "vitest";
import { nextInstant, nextInstants } from "@/lib/queue/schedules/rules";
import { cron, instants, refusal } from "./rules.fixture";

const refusedZone = (timezone: string): string => {
  const { pointer, detail } = refusal({ cron_expr: "0 9 * * *", timezone });
  expect(pointer).toBe("/timezone");
  return detail;
};

test("CRON-30 IANA names and links are accepted and kept", () => {
  for (const zone of [
    "UTC",
    "Europe/Berlin",
    "Europe/Kyiv",
    "Europe/Kiev",
    "US/Pacific",
    "Etc/GMT+5",
    "Japan",
    "GMT",
    "America/Argentina/San_Luis",
  ]) {
    expect(cron("0 9 * * *", zone), zone).toMatchObject({ timezone: zone });
  }
  expect(instants(cron("0 9 * * *", "Etc/GMT+5"), "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-01T14:00Z"]);
  expect(instants(cron("0 9 * * *", "Europe/Kyiv"), "2026-07-01T00:00:00Z", 1)).toEqual(["2026-07-01T06:00Z"]);
});

test("CRON-30 abbreviations, offsets and unknown names are refused, and a name in another case with the correct spelling", () => {
  for (const zone of [
    "EST",
    "CST",
    "IST",
    "MST",
    "PST8PDT",
    "GMT+5",
    "+05:00",
    "UTC+2",
    "Mars/Base",
    "",
    " ",
    "../etc/passwd",
    "SystemV/PST8",
    "Europe/Berlin ",
    "local",
    "constructor",
  ]) {
    expect(refusedZone(zone), zone).toContain("IANA time zone, such as");
  }
  expect(refusedZone("europe/berlin")).toContain("spelled Europe/Berlin");
  expect(refusedZone("us/pacific")).toContain("spelled US/Pacific");
});

test("CRON-30 every zone of the running ICU is supported with the same local time", () => {
  const zones = Intl.supportedValuesOf("timeZone");
  expect(zones.length).toBeGreaterThan(300);
  for (const zone of zones) {
    const [first] = nextInstants(cron("30 12 1 7 *", zone), new Date("2026-01-01T00:00:00Z"), 1);
    const shown = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
    expect(first && shown.format(first.at), zone).toBe("2026-07-01 12:30");
  }
});

test("CRON-30 a zone that this Node does not know fails its own caller only", () => {
  const stranger = { type: "cron", expr: "0 9 * * *", timezone: "Mars/Base", gap: null, overlap: null } as const;
  expect(() => nextInstant(stranger, new Date("2026-01-01T00:00:00Z"))).toThrow(RangeError);
  expect(instants(cron("0 9 * * *"), "2026-01-01T00:00:00Z", 1)).toEqual(["2026-01-01T09:00Z"]);
});

const { TZ } = process.env;
afterEach(() => {
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
});

test("the time zone of the process has no effect", () => {
  const answers = () =>
    ["0 0 * * *", "30 2 * * *", "*/15 * 29 2 *"].flatMap((expr) =>
      nextInstants(cron(expr, "America/New_York"), new Date("2026-03-07T12:00:00Z"), 5),
    );
  const expected = answers();
  for (const zone of ["Pacific/Apia", "America/St_Johns", "Europe/Berlin"]) {
    process.env.TZ = zone;
    expect(new Date(2026, 5, 1).getTime(), "the process did move").not.toBe(Date.UTC(2026, 5, 1));
    expect(answers()).toEqual(expected);
  }
});
