import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { enqueueJobs } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { makeFactory } from "@/lib/testing/rows/factories";
import { startAttemptsSql } from "../claim/claim-jobs.sql";
import { extendLeasesSql } from "../leases/hold-leases.sql";
import { lockExpiredSql } from "../leases/rescue-expired-leases.sql";
import {
  finishAttemptsSql,
  finishPlainSql,
  finishSucceededSql,
  readLeasesSql,
  requeueAttemptsSql,
} from "./settle-attempts.sql";

const RUNNING = 200;
const database = await testDatabase();
const make = makeFactory(database);
const client = new pg.Client({ connectionString: database.urlFor("worker") });

interface Lease {
  readonly job_id: string;
  readonly lease_no: number;
}

const arrays = (leases: readonly Lease[]) =>
  `'{${leases.map(({ job_id }) => job_id)}}', '{${leases.map(({ lease_no }) => lease_no)}}'`;
const ends = (leases: readonly Lease[], more: object) =>
  `'${JSON.stringify(leases.map((lease) => ({ ...lease, spent: true, ...more })))}'`;

/** Each statement, with the types for its preparation and its arguments. */
const CASES: readonly [name: string, text: string, types: string, values: (leases: readonly Lease[]) => string][] = [
  [
    "start",
    startAttemptsSql.text,
    "uuid[], bigint[], float8[]",
    (all) => `${arrays(all)}, '{${all.map(() => "null")}}'`,
  ],
  ["extend", extendLeasesSql.text, "uuid[], bigint[], int[]", (all) => `${arrays(all)}, '{${all.map(() => 30)}}'`],
  ["read", readLeasesSql.text, "uuid[], bigint[]", arrays],
  ["lock_expired", lockExpiredSql.text, "uuid[], bigint[]", arrays],
  ["finish", finishAttemptsSql.text, "jsonb", (all) => ends(all, { status: "succeeded", outcome: "succeeded" })],
  [
    "finish_succeeded",
    finishSucceededSql.text,
    "uuid[], bigint[], text[], float8[]",
    (all) => `${arrays(all)}, '{${all.map(() => "7")}}', '{${all.map(() => "null")}}'`,
  ],
  [
    "finish_plain",
    finishPlainSql.text,
    "uuid[], bigint[], text[], float8[]",
    (all) => `${arrays(all)}, '{${all.map(() => "7")}}', '{${all.map(() => "null")}}'`,
  ],
  [
    "requeue",
    requeueAttemptsSql.text,
    "jsonb, int",
    (all) => `${ends(all, { status: "failed", retry_in_seconds: 1 })}, 0`,
  ],
];

async function explain(name: string, values: string): Promise<string> {
  await client.query("begin");
  const { rows } = await client.query<{ "QUERY PLAN": string }>(
    `explain (analyze, costs off, timing off, summary off, buffers off) execute ${name} (${values})`,
  );
  await client.query("rollback");
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

let leases: Lease[];

beforeAll(async () => {
  await client.connect();
  // Planned with the statistics of an idle queue, which is when a plan can go wrong.
  await database.query("vacuum analyze");
  for (const [name, text, types, values] of CASES) {
    await client.query(`prepare ${name} (${types}) as ${text}`);
    for (let run = 0; run < 6; run++) await explain(name, values([]));
  }
  const { key } = await make.definition();
  await enqueueJobs(
    make.web,
    await make.tenant(),
    Array.from({ length: RUNNING }, () => ({ definitionKey: key })),
  );
  await make.claim("w", RUNNING);
  leases = await database.query<Lease & pg.QueryResultRow>("select job_id, lease_no from app.live_jobs");
});
afterAll(async () => {
  await client.end();
  await make.close();
});

test.each(CASES)("the statement %s finds its rows by key, whatever the statistics are", async (name, ...rest) => {
  const plan = await explain(name, rest[2](leases));
  expect(plan).toMatch(/Index Scan using live_jobs_pkey/);
  // A plan that compares each row with each would throw away 200 × 200 rows here.
  const thrownAway = [...plan.matchAll(/Rows Removed by (?:Join )?Filter: (\d+)/g)].map((match) => Number(match[1]));
  expect(Math.max(0, ...thrownAway)).toBeLessThanOrEqual(RUNNING);
  expect(plan).not.toMatch(/Seq Scan|Index Scan using live_jobs_(?:running|waiting|claim)/);
});
