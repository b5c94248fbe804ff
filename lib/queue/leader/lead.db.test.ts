import { afterAll, afterEach, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { waitFor } from "@/lib/testing/processes";
import { makeFactory } from "@/lib/testing/rows/factories";
import { type Leadership, seekLeadership } from "./lead";
import { listTzVersions } from "./schedulers";

const database = await testDatabase();
const make = makeFactory(database);
const url = database.urlFor("scheduler");
const open: Leadership[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});
afterAll(() => make.close());

/** A scheduler whose Node has this version of the time-zone data. */
function scheduler(leaderId: string, tzVersion: string | null) {
  const seen = { leads: false, newest: null as string | null };
  const leadership = seekLeadership(
    { url, leaderId, tzVersion, version: "0", random: () => 0.5 },
    {
      onLead: () => {
        seen.leads = true;
      },
      onLost: () => {
        seen.leads = false;
      },
      onOutdated: (newest) => {
        seen.newest = newest;
      },
      onError: () => {},
    },
  );
  open.push(leadership);
  return { seen, close: leadership.close };
}
const until = (what: string, look: () => boolean) => waitFor(async () => look(), { withinMs: 30_000, what });

test("a scheduler yields to one with newer time-zone data, stands by while it lives, and leads again afterwards", async () => {
  const old = scheduler("old", "2025b");
  await until("the old one leads", () => old.seen.leads);
  const fresh = scheduler("fresh", "2026a");
  await until("the new one leads", () => fresh.seen.leads);
  expect(old.seen).toEqual({ leads: false, newest: "2026a" });
  expect(await listTzVersions(make.scheduler)).toEqual([
    { tz_version: "2025b", workers: 0, schedulers: 1 },
    { tz_version: "2026a", workers: 0, schedulers: 1 },
  ]);
  await fresh.close();
  await until("the old one leads again", () => old.seen.leads);
  expect(old.seen.newest).toBeNull();
});

test("a scheduler does not take the lead while one with newer time-zone data is alive, even before that one leads", async () => {
  await database.query("insert into app.schedulers (scheduler_id, tz_version) values ('booting', '2026b')");
  const unknown = scheduler("unknown", null);
  await until("it learns of the newer version", () => unknown.seen.newest === "2026b");
  expect(unknown.seen.leads).toBe(false);
  await database.query(
    "update app.schedulers set last_seen_at = app.now() - interval '11 s' where scheduler_id = 'booting'",
  );
  await until("it leads, because the other one is silent", () => unknown.seen.leads);
});
