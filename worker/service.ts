import { listen, type NotifyListener } from "@/lib/db";
import { heldSecrets } from "@/lib/env/secret-source.mjs";
import { hasFailpoints } from "@/lib/env/test-build";
import type { WorkerEnv } from "@/lib/env/worker";
import type { Logger } from "@/lib/observability/log";
import { CHANNELS, type ClaimedJob, interleave, type PolledWork, warmUp } from "@/lib/queue/worker";
import { parseBands } from "./claim/bands";
import { Claimer } from "./claim/claimer";
import { Supported, type Wanted } from "./claim/supported";
import { UnheardClaims } from "./claim/unheard-claims";
import { DrainCancels } from "./drain-cancels";
import { Leases } from "./lease/leases";
import { Quarantine } from "./quarantine/quarantine";
import { JobRunner } from "./run/runner";
import { type ToolParts, toolsOf } from "./run/tools";
import { Settler } from "./settle/settler";
import { StandInCursors, standInForLeader } from "./stand-in";
import { within } from "./within";

/** A worker is ready while polls succeed; an outage longer than this makes it not ready. */
const READY_WITHIN_MS = 5000;
/** How long the drain waits for the last claim before it begins. */
const LAST_CLAIM_MS = 1000;

/** A claim, a settle, starts and a notification may be in flight at the same time. */
export const WARM_CONNECTIONS = 4;
/** Definitions that are read before the first job. */
const MOST_READ_BEFORE = 50;

export interface WorkerParts extends ToolParts {
  readonly log: Logger;
  readonly workerId: string;
  /** Called when the lease thread is gone: this process can no longer do anything safely. */
  readonly onFatal: () => void;
}

/** Claims, runs and settles the jobs that this worker supports, from `start` to `stop`. */
export class WorkerService {
  private readonly leases: Leases;
  private readonly runner: JobRunner;
  private readonly claimer: Claimer;
  private readonly drainCancels: DrainCancels;
  private readonly unheard: UnheardClaims;
  private readonly wanted: Wanted;
  private readonly quarantine: Quarantine;
  private readonly standInCursors = new StandInCursors();
  private listener: NotifyListener | undefined;
  private servedVersion: number | undefined;

  private constructor(
    private readonly parts: WorkerParts,
    private current: Supported,
  ) {
    const { env, log, workerId, worker, random } = parts;
    this.wanted = wantedOf(env);
    this.quarantine = quarantineOf(parts);
    const settler = new Settler(worker, log, random);
    this.unheard = new UnheardClaims({ db: worker, log, workerId, settler });
    this.leases = new Leases(env.databaseUrls.listen, { log, logFormat: env.logFormat, onDied: parts.onFatal });
    this.runner = new JobRunner({
      db: worker,
      log,
      workerId,
      random,
      leases: this.leases,
      settler,
      tools: { ...toolsOf(parts), quarantine: this.quarantine },
      logMaxBytes: env.logMaxBytes,
      slots: env.concurrency,
      mostAside: env.webhookConcurrency,
      onFree: (ended) => this.claimer.freed(ended),
    });
    this.claimer = new Claimer({
      db: worker,
      log,
      workerId,
      random,
      capacity: () => this.runner.capacity(),
      mostDeliveries: env.webhookConcurrency,
      isQuick: (definitionId) => this.runner.isQuick(definitionId),
      served: () => this.current,
      numbers: {
        numbers: (count) => this.runner.begunMarks.numbers(count),
        unanswered: (numbers) => {
          this.runner.begunMarks.unanswered(numbers);
          this.unheard.failed(numbers);
        },
      },
      // Claimed jobs come lane by lane, and run in the order in which they are handed over.
      onClaimed: (jobs, since) => this.runner.take(interleave(jobs, laneOf), since),
      onPolled: (polled) => this.polled(polled),
    });
    this.drainCancels = new DrainCancels({
      db: worker,
      workerId,
      log,
      onCanceled: (jobIds) => this.runner.cancel(jobIds),
    });
  }

  static async create(parts: WorkerParts): Promise<WorkerService> {
    return new WorkerService(parts, await readServed(parts, wantedOf(parts.env)));
  }

  get served(): Supported {
    return this.current;
  }

  get runningCount(): number {
    return this.runner.running;
  }

  isReady(): boolean {
    return performance.now() - this.claimer.polledAt < READY_WITHIN_MS;
  }

  /**
   * Waits until leases can be renewed. Opens connections, plans statements and reads definitions, so that the first
   * jobs do not wait for them. Does as much as the database allows; never rejects. Register the worker first.
   */
  async prepare(): Promise<void> {
    await this.leases.ready;
    // Failpoints are meant for the statements of jobs.
    if (hasFailpoints) return;
    const { worker, log } = this.parts;
    try {
      await warmUp(worker, WARM_CONNECTIONS);
      await this.runner.begunMarks.readTakenCount();
      for (const version of this.current.versions.slice(0, MOST_READ_BEFORE))
        await this.runner.definitions.of(worker, version);
    } catch (error) {
      log.info({ err: error }, "connections and definitions are not warm, first jobs may be delayed");
    }
  }

  start(): void {
    this.parts.registry.preparation.onChange = () => void this.preparationChanged();
    this.listener = listen({
      url: this.parts.env.databaseUrls.listen,
      channels: [CHANNELS.work, CHANNELS.cancel, CHANNELS.pauses],
      applicationName: "leasehold worker listener",
      onNotify: (channel, payload) => this.woken(channel, payload),
      // Wake-ups may have been lost.
      onReady: () => this.woken(CHANNELS.work, "*"),
      onError: (error) => this.parts.log.warn({ err: error }, "the wake-up connection broke"),
    });
    this.claimer.start();
  }

  /**
   * Stops claiming. Running jobs may finish for `graceMs` and are then given back; until then they can be canceled.
   * Resolves when no job is in flight, and the last claim has been answered or `graceMs` has passed.
   */
  async stop(graceMs: number): Promise<void> {
    const deadline = performance.now() + graceMs;
    const lastClaim = this.claimer.stop();
    await within(LAST_CLAIM_MS, lastClaim);
    await within(LAST_CLAIM_MS, this.unheard.giveBack());
    this.drainCancels.start();
    await this.drainUntil(deadline);
    // Jobs that a slow database returns this late would otherwise wait for their leases to expire, each at the cost of
    // an attempt.
    await within(deadline - performance.now(), lastClaim);
    await within(LAST_CLAIM_MS, this.unheard.giveBack());
    await this.drainUntil(deadline);
    this.drainCancels.stop();
    this.quarantine.close();
    await this.listener?.close();
    await this.leases.close();
  }

  private drainUntil(deadline: number): Promise<void> {
    return this.runner.drain(Math.max(0, deadline - performance.now()), (running, seconds) => {
      this.parts.log.info({ running, seconds }, "waiting for running jobs");
    });
  }

  /**
   * Call when this worker leaves because of its memory: handlers whose jobs it gives back run in quarantine from then
   * on.
   */
  suspectHandlers(): void {
    this.quarantine.isOverMemory = true;
  }

  /** Kills running attempts at once: the process is about to exit. */
  killAll(): void {
    this.runner.killAll();
  }

  private woken(channel: string, payload: string): void {
    if (channel === CHANNELS.pauses) this.runner.giveBackAhead();
    else if (channel === CHANNELS.work && payload !== "*") this.claimer.wake(payload.split(",").map(Number));
    else {
      if (channel === CHANNELS.work) this.claimer.wake("*");
      else this.claimer.pollSoon();
      // Queried separately, because polls end when the drain begins.
      this.drainCancels.look();
    }
  }

  private async preparationChanged(): Promise<void> {
    const { registry, log } = this.parts;
    const { problem } = registry.preparation;
    if (problem === null) log.info("commands are claimed again");
    else log.error({ problem }, "no command can be prepared, commands are not claimed");
    this.servedVersion = undefined;
    const served = await readServed(this.parts, this.wanted).catch(() => undefined);
    if (served) this.current = served;
  }

  private async polled({ definitionsVersion, leaderAgeSeconds, cancelRequested }: PolledWork): Promise<void> {
    this.runner.cancel(cancelRequested);
    void this.unheard.giveBack();
    const { preparation, workRoot, launch } = this.parts.registry;
    if (preparation.problem !== null) await preparation.lookAgain(workRoot, launch.runAs);
    if (definitionsVersion !== this.servedVersion) this.current = await readServed(this.parts, this.wanted);
    this.servedVersion = definitionsVersion;
    const { worker, random, log } = this.parts;
    await standInForLeader(worker, {
      leaderAgeSeconds,
      cursors: this.standInCursors,
      random,
      log,
      retry: this.parts.env.retry,
    });
  }
}

const laneOf = ({ laneNo }: ClaimedJob): number => laneNo;

const quarantineOf = ({ env, log, registry }: WorkerParts): Quarantine =>
  new Quarantine({
    log,
    program: new URL("./quarantine.mjs", import.meta.url),
    memoryMb: env.memoryLimitBytes / (1024 * 1024),
    maxTimeoutSeconds: env.maxTimeoutSeconds,
    secrets: heldSecrets(),
    launch: registry.launch,
  });

const wantedOf = (env: WorkerEnv): Wanted => ({
  queues: env.queues,
  definitions: env.definitions,
  bands: parseBands(env.bands),
});

function readServed({ worker, handlers, registry }: WorkerParts, wanted: Wanted): Promise<Supported> {
  return Supported.read(worker, wanted, {
    hasHandler: (key) => handlers.has(key),
    hasCommand: (key) => !registry.isRefusing && registry.preparation.problem === null && registry.keys.includes(key),
  });
}
