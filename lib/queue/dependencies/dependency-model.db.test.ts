import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import {
  type ClaimedJob,
  cancelJob,
  enqueueJobs,
  expireJobs,
  type NewJob,
  retryJob,
  settleAttempts,
} from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { type ModelEdge, type ModelJob, WorkflowModel } from "@/lib/testing/model/workflow-model";
import { dead, succeeded } from "@/lib/testing/rows/attempt-ends";
import { makeLinkedJobs } from "@/lib/testing/rows/linked-jobs";

const database = await testDatabase();
const { make, scope, definitionKey, claimAll } = await makeLinkedJobs(database);
afterAll(() => make.close());

interface DrawnJob {
  readonly edges: readonly { parent: number; type: ModelEdge["type"]; value: number; op: "gt" | "eq" }[];
  readonly onParentFailure: ModelJob["onParentFailure"];
}
interface Step {
  readonly kind: "succeed" | "die" | "cancel" | "expire" | "retry" | "add";
  readonly pick: number;
  readonly n: number;
}

const jobs: fc.Arbitrary<DrawnJob[]> = fc.array(
  fc.record({
    edges: fc.array(
      fc.record({
        parent: fc.nat(50),
        type: fc.constantFrom("completion", "success", "data", "conditional"),
        value: fc.nat(2),
        op: fc.constantFrom("gt", "eq"),
      }),
      { maxLength: 3 },
    ),
    onParentFailure: fc.constantFrom("cancel", "fail", "run"),
  }),
  { minLength: 4, maxLength: 8 },
);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.constantFrom("succeed", "succeed", "succeed", "die", "cancel", "expire", "retry", "add"),
    pick: fc.nat(1000),
    n: fc.nat(3),
  }),
  { minLength: 10, maxLength: 20 },
);

/** The jobs of one run, in the database and in the model. */
class Run {
  readonly model = new WorkflowModel();
  readonly ids: string[] = [];
  private readonly leases = new Map<string, ClaimedJob>();

  /** Enqueues the drawn jobs in one bulk, in reverse, so that their order does not help. */
  async add(drawn: readonly DrawnJob[]): Promise<void> {
    const from = this.ids.length;
    const added = drawn.map(({ edges, onParentFailure }, place): ModelJob => {
      const known = from + place;
      return {
        onParentFailure,
        status: known === 0 || edges.length === 0 ? "running" : "blocked",
        n: null,
        edges: (known === 0 ? [] : edges).map(({ parent, type, value, op }) => ({
          parent: parent % known,
          type,
          condition: type === "conditional" ? { path: "result.n", op, value } : null,
          state: "pending",
        })),
      };
    });
    const bulk = added.map((job, place) => this.toNewJob(job, from, place)).reverse();
    const enqueued = await enqueueJobs(make.web, scope, bulk);
    this.ids.push(...enqueued.map(({ jobId }) => jobId).reverse());
    this.model.add(added);
  }

  private toNewJob({ edges, onParentFailure }: ModelJob, from: number, place: number): NewJob {
    const name = (parent: number) => `j${parent}`;
    const dependsOn = edges.map(({ parent, type, condition }) => ({
      ...(parent < from ? { jobId: String(this.ids[parent]) } : { ref: name(parent) }),
      as: name(parent),
      type,
      ...(condition === null ? {} : { condition }),
    }));
    const results = edges.filter(({ type }) => type === "data").map(({ parent }) => `{{parents.j${parent}.result.n}}`);
    return {
      definitionKey,
      ref: name(from + place),
      payload: results,
      ...(dependsOn.length === 0 ? {} : { dependsOn, onParentFailure }),
    };
  }

  async step({ kind, pick, n }: Step): Promise<void> {
    for (const claimed of await claimAll()) this.leases.set(claimed.jobId, claimed);
    const open = this.model.jobs.flatMap(({ status }, index) => (isMeant(kind, status) ? [index] : []));
    const index = open[pick % Math.max(open.length, 1)];
    if (index === undefined) return;
    const jobId = String(this.ids[index]);
    if (kind === "cancel") {
      await cancelJob(make.web, scope, jobId);
      this.model.end(index, "canceled");
    } else if (kind === "expire") {
      await database.query("update app.live_jobs set expires_at = app.now() where job_id = $1", [jobId]);
      await expireJobs(make.scheduler, { limit: 10 });
      this.model.end(index, "expired");
    } else if (kind === "retry") {
      const taken = await retryJob(make.web, scope, { jobId }).then(
        () => true,
        () => false,
      );
      expect(taken).toBe(this.model.retry(index));
    } else {
      const lease = this.leases.get(jobId);
      if (!lease) throw new Error("not claimed");
      await settleAttempts(make.worker, [kind === "die" ? dead(lease) : succeeded(lease, { n })]);
      this.model.end(index, kind === "die" ? "dead_letter" : "succeeded", kind === "die" ? null : n);
    }
  }

  /** Compares the statuses in the database with the model's; a job queued in the database counts as running. */
  async compare(): Promise<void> {
    const rows = await database.query<{ id: string; status: string }>(
      `select x.id, coalesce(l.state, a.outcome) as status from unnest($1::uuid[]) x (id)
       left join app.live_jobs l on l.job_id = x.id
       left join app.job_attempts a on a.job_id = x.id and a.outcome is not null and not a.superseded`,
      [this.ids],
    );
    const found = new Map(rows.map(({ id, status }) => [id, status === "queued" ? "running" : status]));
    expect(this.ids.map((id) => found.get(id))).toEqual(this.model.jobs.map(({ status }) => status));
  }
}

function isMeant(kind: Step["kind"], status: ModelJob["status"]): boolean {
  if (kind === "cancel" || kind === "expire") return status === "blocked";
  if (kind === "retry") return ["failed", "dead_letter", "canceled", "expired"].includes(status);
  return status === "running";
}

test("A-04 after every step of any workflow each job has the status that the rules give it", async () => {
  await fc.assert(
    fc.asyncProperty(jobs, jobs, steps, async (first, second, all) => {
      const run = new Run();
      await run.add(first);
      await run.compare();
      let left: readonly DrawnJob[] | undefined = second;
      for (const step of all) {
        if (step.kind === "add") {
          if (left) await run.add(left);
          left = undefined;
        } else await run.step(step);
        await run.compare();
      }
      await claimAll();
    }),
    // A run takes a second, so a counterexample is not shrunk.
    { numRuns: 20, endOnFailure: true },
  );
}, 120_000);
