import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect } from "vitest";
import type { TestDatabase } from "@/lib/testing/database";
import { queueFixture } from "./queue-fixture";

/** Starts the built front with remote definitions, keys for them, and helpers that act as their workers. */
export async function remoteFixture(
  database: TestDatabase,
  env: Record<string, string> = {},
  options: Parameters<typeof queueFixture>[2] = {},
) {
  const fixture = await queueFixture(database, env, options);
  const { web, make, superAdmin, key, define, get } = fixture;
  let definitions = 0;

  /** Creates a remote definition and a key for it. */
  async function remote(options: { tenantId?: string; queues?: string[]; definition?: Record<string, unknown> } = {}) {
    definitions += 1;
    const definition = `far-${definitions}`;
    await define({ key: definition, executor: "remote", lease_seconds: 20, max_attempts: 2, ...options.definition });
    const { tenantId, queues } = options;
    const made = await make.key(superAdmin, {
      kind: "worker",
      definitions: [definition],
      ...(tenantId === undefined ? {} : { tenantId }),
      ...(queues === undefined ? {} : { queues }),
    });
    const post = (path: string, body: unknown, as = made.key) =>
      web.call("POST", `/api/v1/worker/${path}`, { key: as, body });
    const claim = async (body: Record<string, unknown> = {}, as = made.key) => {
      const wish = { worker: { name: "one" }, definitions: [definition], limit: 10, ...body };
      const answer = await post("jobs/claim", wish, as);
      expect(answer.status, answer.text).toBe(200);
      return answer.body.jobs;
    };
    return { ...made, definition, post, claim };
  }

  /** Returns everything that a worker could write about a job. */
  async function everything(id: string): Promise<unknown> {
    const all = (table: string) =>
      database.query(`select t::text as row from app.${table} t where job_id = $1 order by 1`, [id]);
    return { attempts: await all("job_attempts"), logs: await all("job_logs"), live: await all("live_jobs") };
  }

  /** Sends a claim as bytes, and returns a function that disconnects. */
  async function leaveWhileWaiting(workerKey: string, body: object): Promise<() => Promise<void>> {
    const { hostname, port } = new URL(web.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const text = JSON.stringify(body);
    socket.write(
      `POST /api/v1/worker/jobs/claim HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${workerKey}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    await setTimeout(500);
    return async () => {
      socket.destroy();
      await setTimeout(200);
    };
  }

  const jobOf = async (id: string, as = key) => (await get(`/api/v1/jobs/${id}`, as)).body;
  const attemptsOf = async (id: string) => (await get(`/api/v1/jobs/${id}/attempts`)).body.data;
  return { ...fixture, remote, everything, leaveWhileWaiting, jobOf, attemptsOf };
}
