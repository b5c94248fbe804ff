import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createLogger } from "@/lib/observability/log";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import type { TurnContext } from "./run-loops";
import { watchFolders } from "./watch-folders";

const database = await testDatabase();
const make = makeFactory(database);
const root = realpathSync(mkdtempSync(path.join(tmpdir(), "leasehold-watch-")));
afterAll(async () => {
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  await make.close();
});

const leader = { leaderId: "the-leader", term: 7 };
let lines: string[];
let folder: string;
let tenantId: string;
let providerId: string;
let look: (changes?: Partial<TurnContext>) => ReturnType<ReturnType<typeof watchFolders>>;

async function provider(at: string): Promise<string> {
  const text = "insert into app.providers (tenant_id, name, path) values ($1, $2, $2) returning id";
  return (await database.query<{ id: string }>(text, [tenantId, at]))[0]?.id ?? "";
}

beforeEach(async () => {
  await database.query("update app.leader set leader_id = $1, term = $2", [leader.leaderId, leader.term]);
  await database.query("delete from app.providers");
  ({ tenantId } = await make.tenant());
  folder = mkdtempSync(path.join(root, "folder "));
  for (const name of ["a", "a/one", "a/two", "b"]) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, "a/one/x.png"), "x");
  providerId = await provider(folder);
  lines = [];
  look = lookWith({});
});

function lookWith(limits: Parameters<typeof watchFolders>[0]): typeof look {
  const stream = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ process: "scheduler", level: "info", format: "json", stream });
  const { scheduler: db, web } = make;
  const inTerm = () => Promise.reject(new Error("not used"));
  const turn = watchFolders({ restFactor: 0, ...limits });
  return (changes) => turn({ db, web, leader, log, random: () => 0.5, inTerm, providerRoots: [root], ...changes });
}

const published = async () =>
  (
    await database.query<{ data: Record<string, unknown> }>(
      "select data from app.events where tenant_id = $1 and name = 'provider.folder.updated' order by id",
      [tenantId],
    )
  ).map(({ data }) => [data.folder_path, data.changed_folders]);

test("Z-05 each change of a folder is one event with the innermost folder", async () => {
  await look();
  await look();
  expect(await published()).toEqual([]);
  writeFileSync(path.join(folder, "a/one/y.png"), "y");
  await look();
  await look();
  expect(await published()).toEqual([["a/one", 1]]);
  utimesSync(path.join(folder, "a/one/y.png"), 1, 1);
  writeFileSync(path.join(folder, "a/two/z"), "z");
  await look();
  renameSync(path.join(folder, "b"), path.join(folder, "c"));
  await look();
  rmSync(path.join(folder, "c"), { recursive: true });
  await look();
  expect(await published()).toEqual([
    ["a/one", 1],
    ["a", 2],
    ["", 2],
    ["", 1],
  ]);
  const [event] = await database.query(
    "select source, depth, data ->> 'provider_id' as provider, data ->> 'provider_name' as name from app.events where tenant_id = $1 limit 1",
    [tenantId],
  );
  expect(event).toEqual({ source: "scheduler", depth: 0, provider: providerId, name: folder });
});

test("concurrent scans publish a change once; a scheduler that lost the lead publishes nothing", async () => {
  await look();
  writeFileSync(path.join(folder, "new"), "1");
  await Promise.all([look(), lookWith({})(), lookWith({})()]);
  expect(await published()).toHaveLength(1);
  await database.query("update app.leader set leader_id = 'another', term = term + 1");
  writeFileSync(path.join(folder, "newer"), "1");
  await look();
  expect(await published()).toHaveLength(1);
  await look({ leader: { leaderId: "another", term: 8 } });
  expect(await published()).toHaveLength(2);
});

test("TEMPLATE-08 a constantly changing folder publishes a limited number of events, and the last change is not lost", async () => {
  look = lookWith({ changes: [{ most: 3, everyMs: 600_000 }] });
  await look();
  for (let round = 0; round < 8; round += 1) {
    writeFileSync(path.join(folder, `b/${round}`), "1");
    await look();
  }
  expect(await published()).toHaveLength(3);
  await lookWith({})();
  expect(await published()).toHaveLength(4);
  await lookWith({})();
  expect(await published()).toHaveLength(4);
});

test("a missing, closed or outside folder is logged once, and compared when it is back", async () => {
  await look();
  renameSync(folder, `${folder} away`);
  const other = mkdtempSync(path.join(root, "other "));
  await provider(other);
  await provider("/etc");
  await look();
  await look();
  expect(lines.filter((line) => line.includes("cannot be watched"))).toHaveLength(2);
  writeFileSync(path.join(`${folder} away`, "b/late"), "1");
  renameSync(`${folder} away`, folder);
  writeFileSync(path.join(other, "beside"), "1");
  await look();
  expect((await published()).toSorted()).toEqual([
    ["", 1],
    ["b", 1],
  ]);
  chmodSync(path.join(folder, "b"), 0);
  await look();
  chmodSync(path.join(folder, "b"), 0o755);
  expect(lines.join("")).not.toContain('"level":"error"');
});

test("TENANT-07 a suspended tenant's folders are not read; later changes are one event afterwards", async () => {
  await look();
  await database.query("update app.tenants set status = 'suspended' where id = $1", [tenantId]);
  writeFileSync(path.join(folder, "new"), "1");
  await look();
  expect(await published()).toEqual([]);
  await database.query("update app.tenants set status = 'active' where id = $1", [tenantId]);
  await look();
  expect(await published()).toEqual([["", 1]]);
});

test("in a folder with more entries than the limit, changes of the rest show in its folders' modification times", async () => {
  for (let index = 0; index < 30; index += 1) writeFileSync(path.join(folder, "b", `file-${index}`), "1");
  const few = lookWith({ mostEntries: 20 });
  await few();
  await few();
  expect(await published()).toEqual([]);
  writeFileSync(path.join(folder, "b", "one-more"), "1");
  await few();
  expect(await published()).toEqual([["b", 1]]);
});

test("a folder that takes too long is skipped in this turn, and without roots nothing is watched", async () => {
  // Too many folders for any machine to read within the shortest timer.
  for (let n = 0; n < 500; n += 1) mkdirSync(path.join(folder, `many-${n}`));
  await look();
  writeFileSync(path.join(folder, "new"), "1");
  await lookWith({ mostMs: 0 })();
  expect(lines.join("")).toContain("could not be read within");
  await look({ providerRoots: [] });
  expect(await published()).toEqual([]);
});

test("a tenant whose folders used their share of the time waits, and delays no other tenant's folder", async () => {
  const folders = [folder, ...["second ", "other "].map((name) => mkdtempSync(path.join(root, name)))];
  for (const full of folders) for (let n = 0; n < 500; n += 1) mkdirSync(path.join(full, `many-${n}`));
  await provider(String(folders[1]));
  ({ tenantId } = await make.tenant());
  const other = await provider(String(folders[2]));
  const slow = lookWith({ mostMs: 0, restFactor: 1_000_000 });
  await slow();
  await slow();
  const looked = lines.flatMap((line) => /"provider_id":"([^"]+)"/.exec(line)?.[1] ?? []);
  expect(looked).toHaveLength(2);
  expect(looked).toContain(other);
});

test("the cost of publishing a change counts as the tenant's time, also when it fails", async () => {
  const ofBusy = [folder, mkdtempSync(path.join(root, "second "))];
  await provider(String(ofBusy[1]));
  const busy = tenantId;
  ({ tenantId } = await make.tenant());
  const quiet = mkdtempSync(path.join(root, "other "));
  await provider(quiet);
  const watch = lookWith({ mostMs: 200, restFactor: 1_000_000 });
  await watch();
  await database.query(
    `create function app.slow_down() returns trigger language plpgsql
       as 'begin perform pg_sleep(0.5); raise exception ''refused''; end'`,
  );
  await database.query(
    `create trigger slow_down before insert on app.events for each row when (new.tenant_id = '${busy}')
       execute function app.slow_down()`,
  );
  for (const one of [...ofBusy, quiet]) writeFileSync(path.join(one, "new"), "1");
  const again = lookWith({ mostMs: 200, restFactor: 1_000_000 });
  await again();
  await again();
  expect(lines.filter((line) => line.includes("could not be published"))).toHaveLength(1);
  expect(await published()).toEqual([["", 1]]);
});

test("more folders than fit into one turn take turns", async () => {
  for (const name of ["p", "q"]) {
    mkdirSync(path.join(folder, name));
    await provider(path.join(folder, name));
  }
  const small = lookWith({ page: 2 });
  expect([(await small()).again, (await small()).again]).toEqual([true, false]);
  const [row] = await database.query("select count(*)::int as n from app.provider_watches where tenant_id = $1", [
    tenantId,
  ]);
  expect(row).toEqual({ n: 3 });
});
