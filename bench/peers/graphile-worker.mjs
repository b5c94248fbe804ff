// graphile-worker as its documentation sets it up. `batched` is its fastest form: local queue and batched completion.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { batches, makeWork, serve, sharedClock, timed } from "../lib/program.mjs";

const FILL_SIZE = 500;
const BATCHED = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

const [role] = process.argv.slice(2);
const pgPool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const logger = new Logger(() => () => {});
const concurrentJobs = Number(process.env.BENCH_CONCURRENCY ?? 50);

await (role === "worker" ? work() : client());

async function work() {
  const handler = makeWork();
  const preset = { worker: { concurrentJobs, ...(process.env.BENCH_VARIANT === "batched" ? BATCHED : {}) } };
  const runner = await run({ pgPool, noHandleSignals: true, logger, preset, taskList: { noop: handler } });
  process.once("SIGTERM", async () => {
    await runner.stop();
    process.exit(0);
  });
  serve({});
}

async function client() {
  const utils = await makeWorkerUtils({ pgPool, logger });
  const specOf = (tag, tenant) => ({ identifier: "noop", payload: { tag, tenant } });
  const addMany = (tags, tenant) => utils.addJobs(tags.map((tag) => specOf(tag, tenant)));
  serve({
    prepare: () => utils.migrate(),
    reset: () => pgPool.query("truncate graphile_worker._private_jobs"),
    async fill({ from = 0, count, tenant }) {
      for (const tags of batches({ from, count, size: FILL_SIZE })) await addMany(tags, tenant);
    },
    singles: ({ count, callers }) => timed({ count, callers, send: (n) => utils.addJob("noop", { tag: n }) }),
    bulks({ count, size }) {
      const all = batches({ from: 0, count, size });
      return timed({ count: all.length, callers: 1, send: (n) => addMany(all[n]) });
    },
    async one({ tag, tenant }) {
      const at = sharedClock();
      await utils.addJob("noop", { tag, tenant });
      return { at };
    },
  });
}
