import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { type Database, openDatabase, type TenantTransaction, withTenant } from "@/lib/db";
import {
  AttemptLostError,
  type CommandRegistry,
  executeHandler,
  type HandlerEvent,
  type HandlerRunContext,
  loadCommandRegistry,
  openInside,
} from "@/lib/execution";
import { makeTestFolder, memorySteps, type TestFolder, testContext } from "@/lib/execution/test-support";
import { publishEvent } from "@/lib/queue/testing";
import { testDatabase } from "@/lib/testing/database";
import { useBuiltCsvThread } from "./csv-thread.fixture";
import { handlers } from "./index";

export interface RunOptions {
  readonly jobId?: string;
  /** Transactions that commit; the next one finds the lease lost, after its statements ran. */
  readonly commits?: number;
  /** Called after the first transaction. */
  readonly onBegun?: () => Promise<void>;
}

/**
 * Runs shipped handlers in a test file, with its own database and registered folder. Every file opens its own bench,
 * because the files of a run share the modules that they import.
 */
export async function openHandlerBench() {
  const database = await testDatabase();
  const tenantId = randomUUID();
  const actor = { kind: "system", id: null, userId: null } as const;
  let folder: TestFolder;
  let registry: CommandRegistry;
  let web: Database;
  /** The folder of the registered provider; new for each test. */
  let data = "";
  let providerId = "";

  beforeAll(async () => {
    await useBuiltCsvThread();
    folder = await makeTestFolder();
    registry = await loadCommandRegistry(join(import.meta.dirname, "commands.json"), { sharedFolder: folder.shared });
    web = openDatabase({
      prepare: true,
      url: database.urlFor("web"),
      role: "web",
      max: 4,
      applicationName: "jobs test",
    });
    await database.query("insert into app.tenants (id, slug, name) values ($1, 'jobs-test', 'Jobs test')", [tenantId]);
  });
  afterAll(async () => {
    await web.close();
    await folder.remove();
  });

  beforeEach(async () => {
    data = join(folder.root, `data-${randomUUID()}`);
    mkdirSync(data, { mode: 0o755 });
    const text = "insert into app.providers (tenant_id, name, path) values ($1, $2, $2) returning id";
    const [row] = await database.query<{ id: string }>(text, [tenantId, data]);
    providerId = row?.id ?? "";
  });

  /** Runs a shipped handler against the database, as one attempt of a job. Returns its result, or its outcome. */
  async function run(
    key: string,
    payload: Record<string, unknown>,
    { jobId = randomUUID(), commits = Infinity, onBegun = async () => undefined }: RunOptions = {},
  ) {
    const handler = handlers.get(key);
    if (!handler) throw new Error(`no handler ${key}`);
    let done = 0;
    const transaction = async <T>(fn: (tx: TenantTransaction) => Promise<T>) => {
      const value = await withTenant(web, tenantId, async (tx) => {
        const result = await fn(tx);
        done += 1;
        if (done > commits) throw new AttemptLostError();
        return result;
      });
      if (done === 1) await onBegun();
      return value;
    };
    const openProviderPath = (_id: string, relative: string) =>
      openInside({ root: data, relative, allowedRoots: [folder.root] });
    const publish = (tx: TenantTransaction, { name, data, key = name }: HandlerEvent) =>
      publishEvent(tx, { tenantId, actor }, { name, data, producerId: `${jobId}:1:${key}`, source: "job" });
    const { ctx } = testContext({
      jobId,
      tenantId,
      payload: { provider_id: providerId, ...payload },
      openProviderPath,
    });
    const context: HandlerRunContext = {
      ...ctx,
      registry,
      transaction,
      publishEvent: (event, tx) => (tx ? publish(tx, event) : transaction((own) => publish(own, event))),
      steps: memorySteps().steps,
    };
    const { outcome } = await executeHandler(handler, context);
    return outcome.kind === "succeeded" ? outcome.result : outcome;
  }

  /** Writes a file into the provider's folder. */
  const put = (name: string, contents: string | Uint8Array) => writeFileSync(join(data, name), contents);

  return {
    database,
    run,
    put,
    get data() {
      return data;
    },
    get providerId() {
      return providerId;
    },
  };
}
