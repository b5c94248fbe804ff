import type { Transaction } from "@/lib/db";
import { type FiredSchedules, fireDueSchedules, type TenantScope } from "@/lib/queue/testing";
import type { TestDatabase } from "../database";
import type { Factory } from "./factories";

export interface StoredFiring {
  readonly trigger_id: string;
  readonly at: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly n: number;
  readonly job_id: string | null;
  readonly is_catch_up: boolean;
}

export interface StoredTrigger {
  readonly next: string | null;
  readonly following: string | null;
  readonly runs: number;
  readonly status: string;
  readonly status_reason: string | null;
}

interface DueTriggers {
  readonly secondsAgo: number;
  readonly template?: unknown;
  readonly everyMs?: number;
}

const HOUR_MS = 3_600_000;
const ISO = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/** Schedules as rows, a clock set by the test, and the resulting firings. */
export function scheduleFixture(database: TestDatabase, make: Factory) {
  const { query } = database;
  let after: string | undefined;
  let fallback: Promise<string> | undefined;
  const definitionId = async (): Promise<string> => {
    fallback ??= make.definition().then(({ id }) => id);
    return fallback;
  };
  return {
    /** Sets the database's clock to an instant, from which it runs on. */
    clock: (iso: string) => database.moveClock(Date.parse(iso) - Date.now()),
    /** Inserts a row as a user's request would have left it: a cron of each minute by default. */
    trigger: async (scope: TenantScope, columns: Readonly<Record<string, unknown>> = {}): Promise<string> => {
      const all: Record<string, unknown> = {
        tenant_id: scope.tenantId,
        label: "nightly",
        trigger_type: "schedule",
        definition_id: await definitionId(),
        schedule_type: "cron",
        cron_expr: columns.schedule_type ? null : "* * * * *",
        timezone: "UTC",
        overlap_policy: "allow",
        ...columns,
      };
      const names = Object.keys(all);
      const values = names.map((name) => (name === "payload_template" ? JSON.stringify(all[name]) : all[name]));
      const rows = await query<{ id: string }>(
        `insert into app.job_triggers (${names.join(", ")}) values (${names.map((_, n) => `$${n + 1}`).join(", ")}) returning id`,
        values,
      );
      return rows[0]?.id ?? "";
    },
    /**
     * Inserts interval schedules of a tenant in one statement. The first has been due for `secondsAgo` seconds, each
     * other one a microsecond less.
     */
    dueTriggers: async (
      tenantId: string,
      count: number,
      { secondsAgo, template = {}, everyMs = HOUR_MS }: DueTriggers,
    ) =>
      void (await query(
        `insert into app.job_triggers (tenant_id, label, trigger_type, definition_id, payload_template, schedule_type,
           interval_ms, anchor_at, timezone, catch_up, catch_up_limit, overlap_policy, next_run_at)
         select $1, repeat('l', 200), 'schedule', $2, $4, 'interval', $6, x.at, 'UTC', 'all', 1000, 'allow', x.at
         from generate_series(1, $3::int) n
         cross join lateral (select app.now() - make_interval(secs => $5::float8) + n * interval '1 us' as at) x`,
        [tenantId, await definitionId(), count, JSON.stringify(template), secondsAgo, everyMs],
      )),
    /** Runs one turn of a leader, continuing after its previous turns. */
    fire: async (limit = 100): Promise<FiredSchedules> => {
      const fired = await make.scheduler.transaction((tx: Transaction) => fireDueSchedules(tx, { limit, after }));
      after = fired.after;
      return fired;
    },
    firings: (triggerId: string) =>
      query<StoredFiring>(
        `select trigger_id, ${ISO("fire_at")} as at, outcome, reason, detail, n, job_id, is_catch_up
         from app.trigger_firings where trigger_id = $1 order by fire_at`,
        [triggerId],
      ),
    read: async (triggerId: string): Promise<StoredTrigger | undefined> =>
      (
        await query<StoredTrigger>(
          `select ${ISO("next_run_at")} as next, ${ISO("following_run_at")} as following, run_count::int as runs, status,
             status_reason from app.job_triggers where id = $1`,
          [triggerId],
        )
      )[0],
    jobs: (triggerId: string) =>
      query<{
        id: string;
        tenant_id: string;
        source: string;
        payload: unknown;
        metadata: unknown;
        scheduled_for: Date;
      }>(
        "select id, tenant_id, source, payload, metadata, scheduled_for from app.jobs where source_ref = $1 order by id",
        [triggerId],
      ),
  };
}
