// pg-boss with notifications and batches, as its documentation advises for throughput.
import { PgBoss } from "pg-boss";
import { batches, makeWork, serve, sharedClock, timed } from "../lib/program.mjs";

const FILL_SIZE = 500;
const NAME = "noop";
const WORKERS = 4;

const [role] = process.argv.slice(2);
const boss = new PgBoss({ connectionString: process.env.DATABASE_URL, max: 20, useListenNotify: true });
boss.on("error", (error) => process.stderr.write(`${error.message}\n`));
await boss.start();
await (role === "worker" ? work() : client());

async function work() {
  const handler = makeWork();
  const batchSize = Number(process.env.BENCH_BATCH ?? 100);
  const localConcurrency = Number(process.env.BENCH_CONCURRENCY ?? WORKERS);
  const options = { batchSize, localConcurrency, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
  await boss.work(NAME, options, async (jobs) => {
    await Promise.all(jobs.map(({ data }) => handler(data)));
  });
  process.once("SIGTERM", async () => {
    await boss.stop({ graceful: true, timeout: 3000 });
    process.exit(0);
  });
  serve({});
}

async function client() {
  const addMany = (tags, tenant) =>
    boss.insert(
      NAME,
      tags.map((tag) => ({ data: { tag, tenant } })),
    );
  serve({
    prepare: () => boss.createQueue(NAME, { notify: true }),
    reset: () => boss.deleteAllJobs(NAME),
    async fill({ from = 0, count, tenant }) {
      for (const tags of batches({ from, count, size: FILL_SIZE })) await addMany(tags, tenant);
    },
    singles: ({ count, callers }) => timed({ count, callers, send: (n) => boss.send(NAME, { tag: n }) }),
    bulks({ count, size }) {
      const all = batches({ from: 0, count, size });
      return timed({ count: all.length, callers: 1, send: (n) => addMany(all[n]) });
    },
    async one({ tag, tenant }) {
      const at = sharedClock();
      await boss.send(NAME, { tag, tenant });
      return { at };
    },
  });
}
