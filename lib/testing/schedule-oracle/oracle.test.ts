import { expect, test } from "vitest";
import { countInstants, nextInstants, readSchedule } from "@/lib/queue/schedules/rules";
import type { ScheduleRule } from "@/lib/queue/types";
import { chanceOf, rules, spans, ZONES, type ZoneSpan } from "./cases";
import { type Occurrence, type OracleRule, occurrencesIn, type Window, watch } from "./oracle";

const RULES = 240;

/**
 * `npm run oracle` compares everything. This is about a twentieth: some windows, because they cost more, with some of
 * the rules.
 */
const isFull = process.env.ORACLE_FORM === "full";
const [WINDOWS_SHARE, RULES_SHARE] = isFull ? [1, 1] : [0.12, 1 / 3];

function engineRule({ expr, gap, overlap }: OracleRule, timezone: string): ScheduleRule {
  const { rule, problems } = readSchedule({ cron_expr: expr, timezone, dst_policy: { gap, overlap } });
  if (!rule) throw new Error(`${expr} is refused: ${JSON.stringify(problems)}`);
  return rule;
}

const clock = ({ at, wall }: Pick<Occurrence, "at" | "wall">): string =>
  `${new Date(at).toISOString()} = ${new Date(wall * 60_000).toISOString().slice(0, 19)}`;

let engineMs = 0;

function compare(window: Window, span: ZoneSpan, rule: OracleRule): number {
  const expected = occurrencesIn(window, rule);
  const asked = engineRule(rule, span.zone);
  const after = new Date(span.from - 1);
  const until = new Date(span.until - 1);
  const began = performance.now();
  const next = nextInstants(asked, after, expected.length + 1);
  engineMs += performance.now() - began;
  const found = next.filter(({ at }) => at <= until);
  const told = JSON.stringify({ ...rule, zone: span.zone, from: new Date(span.from) });
  expect(
    found.map(({ at, local }) => `${at.toISOString()} = ${local.slice(0, 19)}`),
    told,
  ).toEqual(expected.map(clock));
  const isMadeUp = (note: string | null): boolean => note?.includes("so it runs right after") ?? false;
  expect(
    found.map(({ note }) => isMadeUp(note)),
    told,
  ).toEqual(expected.map((one) => one.isMadeUp));
  expect(countInstants(asked, after, until), told).toBe(expected.length);
  return expected.length;
}

test("the engine agrees with a clock read minute by minute, around every clock change in many zones", () => {
  const chance = chanceOf(5);
  const all = rules(RULES);
  const every = spans();
  expect(ZONES.length).toBeGreaterThanOrEqual(20);
  expect(new Set(all.map(({ expr }) => expr)).size).toBeGreaterThanOrEqual(200);
  let [comparisons, instants] = [0, 0];
  for (const span of every.filter(({ isRare }) => isRare || chance() < WINDOWS_SHARE)) {
    const window = watch(span.zone, span.from, span.until);
    for (const rule of all.filter(() => chance() < RULES_SHARE)) {
      instants += compare(window, span, rule);
      comparisons += 1;
    }
  }
  const share = comparisons / (every.length * all.length);
  if (isFull) {
    const each = ((engineMs * 1000) / instants).toFixed(1);
    console.info(`${ZONES.length} zones, ${every.length} windows, ${all.length} rules, ${comparisons} comparisons`);
    console.info(`${instants} instants, ${each} µs for each of the engine's`);
  }
  expect(share).toBeGreaterThanOrEqual(isFull ? 1 : 0.05);
  expect(instants).toBeGreaterThan(comparisons);
}, 3_600_000);

test("the oracle gives the known answers", () => {
  const window = watch("America/New_York", Date.parse("2026-03-07T00:00:00Z"), Date.parse("2026-03-10T00:00:00Z"));
  const at = (rule: Partial<OracleRule>) =>
    occurrencesIn(window, { expr: "30 2 * * *", gap: null, overlap: null, ...rule }).map((one) =>
      new Date(one.at).toISOString().slice(5, 16),
    );
  expect(at({})).toEqual(["03-07T07:30", "03-08T07:00", "03-09T06:30"]);
  expect(at({ gap: "skip" })).toEqual(["03-07T07:30", "03-09T06:30"]);
  expect(at({ expr: "30 */2 * * *" }).filter((one) => one.startsWith("03-08T0"))).toEqual([
    "03-08T01:30",
    "03-08T03:30",
    "03-08T05:30",
    "03-08T08:30",
  ]);
});
