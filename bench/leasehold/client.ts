import { handlers } from "@/jobs";
import { migrate } from "@/lib/db";
import { cancelJob, createDefinition, enqueueJob, enqueueJobs, SYSTEM, type TenantScope } from "@/lib/queue/testing";
import { openPool } from "../lib/installation";
import { batches, serve, sharedClock, timed } from "../lib/program.mjs";
import { query } from "../lib/server";

const FILL_SIZE = 500;
const HISTORY =
  "app.live_jobs, app.jobs, app.job_attempts, app.job_logs, app.job_stat_deltas, app.job_stats, app.live_totals";
const DEFINITION = "noop";
/** Short, so that scenarios that wait for an expired lease do not take long. */
const SETTINGS: Readonly<Record<string, { readonly lease_seconds: number }>> = { "hold-briefly": { lease_seconds: 5 } };

const installation = { adminUrl: process.env.DATABASE_URL ?? "", secret: process.env.LEASEHOLD_SECRET ?? "" };
const scopes: TenantScope[] = [];
const web = openPool(installation, "web", { max: 20 });

interface Fill {
  readonly from?: number;
  readonly count: number;
  readonly tenant?: number;
  readonly priority?: number;
}

serve({
  async prepare({ tenants = 1 }: { tenants?: number }) {
    await migrate({ ...installation, log: () => {} });
    const platform = openPool(installation, "platform", { max: 1 });
    for (const { key, argSchema } of handlers.values())
      await createDefinition(platform, SYSTEM, { key, executor: "handler", arg_schema: argSchema, ...SETTINGS[key] });
    const argSchema = handlers.get("hold")?.argSchema ?? {};
    await createDefinition(platform, SYSTEM, { key: "hold-command", command_key: "hold", arg_schema: argSchema });
    await platform.close();
    const rows = await query<{ id: string }>(
      installation.adminUrl,
      "insert into app.tenants (slug, name) select 't' || n, 'T' || n from generate_series(1, $1) n returning id",
      [tenants],
    );
    for (const { id } of rows) scopes.push({ tenantId: id, actor: SYSTEM });
  },
  reset: () => query(installation.adminUrl, `truncate ${HISTORY}`),
  async fill({ from = 0, count, tenant = 0, priority }: Fill) {
    for (const tags of batches({ from, count, size: FILL_SIZE }))
      await enqueueJobs(
        web,
        scopeOf(tenant),
        tags.map((tag) => ({ ...jobOf(tag, tenant), ...(priority && { priority }) })),
      );
  },
  singles: ({ count, callers }: { count: number; callers: number }) =>
    timed({ count, callers, send: (n) => enqueueJob(web, scopeOf(0), jobOf(n, 0)) }),
  bulks({ count, size }: { count: number; size: number }) {
    const all = batches({ from: 0, count, size });
    const send = (n: number) =>
      enqueueJobs(
        web,
        scopeOf(0),
        (all[n] ?? []).map((tag) => jobOf(tag, 0)),
      );
    return timed({ count: all.length, callers: 1, send });
  },
  /** Enqueues jobs that run until they are stopped. Returns their ids. */
  async hold({ definition, tags }: { definition: string; tags: readonly number[] }) {
    const jobs = tags.map((tag) => ({ definitionKey: definition, payload: { tag } }));
    return (await enqueueJobs(web, scopeOf(0), jobs)).map(({ jobId }) => jobId);
  },
  /** Returns when the cancel was answered. */
  async cancel({ jobId }: { jobId: string }) {
    await cancelJob(web, scopeOf(0), jobId);
    return { at: sharedClock() };
  },
  async one({ tag, tenant = 0 }: { tag: number; tenant?: number }) {
    const at = sharedClock();
    await enqueueJob(web, scopeOf(tenant), jobOf(tag, tenant));
    return { at };
  },
});

function scopeOf(tenant: number): TenantScope {
  const scope = scopes[tenant];
  if (!scope) throw new Error(`there is no tenant ${tenant}`);
  return scope;
}

const jobOf = (tag: number, tenant: number) => ({ definitionKey: DEFINITION, payload: { tag, tenant } });
