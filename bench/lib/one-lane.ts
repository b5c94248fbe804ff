import type { Database } from "@/lib/db";
import { createInstallation, openPool } from "./installation";
import { type BenchServer, query } from "./server";

/** A database of its own with one lane (of the definition `noop`, beside which there is `other`), for claims by hand. */
export interface OneLane {
  readonly serverPid: number;
  readonly platform: Database;
  /** Of one connection each. */
  readonly workers: readonly Database[];
  readonly laneNo: number;
  /** Replaces all rows with this many ready jobs. */
  fill(jobs: number): Promise<void>;
  /** Returns the number of unfinished jobs. */
  left(): Promise<number>;
  close(): Promise<void>;
}

export async function openOneLane(
  server: BenchServer,
  { name, workers }: { readonly name: string; readonly workers: number },
): Promise<OneLane> {
  const installation = await createInstallation(server, `bench_${name}`, [{ key: "noop" }, { key: "other" }]);
  const { adminUrl } = installation;
  const open = (role: "worker" | "platform") => openPool(installation, role, { max: 1 });
  const platform = open("platform");
  const [lane] = await query<{ lane_no: number }>(
    adminUrl,
    `with t as (insert into app.tenants (slug, name) values ('t', 'T') returning id)
     insert into app.lanes (tenant_id, queue_id, definition_id, band)
     select t.id, d.queue_id, d.id, 2 from t, app.job_definitions d where d.key = 'noop' returning lane_no`,
  );
  const laneNo = lane?.lane_no ?? 0;
  const databases = Array.from({ length: workers }, () => open("worker"));
  return {
    serverPid: server.pid,
    platform,
    workers: databases,
    laneNo,
    fill: (jobs) => fill(adminUrl, { jobs, laneNo }),
    left: async () => {
      const [row] = await query<{ n: number }>(adminUrl, "select count(*)::int as n from app.live_jobs");
      return row?.n ?? 0;
    },
    close: async () => void (await Promise.all([platform, ...databases].map((db) => db.close()))),
  };
}

async function fill(
  adminUrl: string,
  { jobs, laneNo }: { readonly jobs: number; readonly laneNo: number },
): Promise<void> {
  await query(adminUrl, "truncate app.live_jobs, app.jobs, app.job_attempts, app.job_stat_deltas");
  await query(
    adminUrl,
    `with made as (
       insert into app.jobs (tenant_id, definition_id, definition_version, lane_no, source, scheduled_for, max_attempts)
       select tenant_id, definition_id, 1, lane_no, 'manual', now(), 3 from app.lanes, generate_series(1, $1::int)
       where lane_no = $2 returning id, tenant_id, lane_no, scheduled_for)
     insert into app.live_jobs (job_id, tenant_id, lane_no, state, ready, sort_key, priority, scheduled_for)
     select id, tenant_id, lane_no, 'queued', true, app.sort_key_of(scheduled_for, 100) + random(), 100, scheduled_for from made`,
    [jobs, laneNo],
  );
  await query(adminUrl, "vacuum analyze app.live_jobs, app.jobs");
}
