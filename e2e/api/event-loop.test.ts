import { afterAll, expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { withEqualKeys } from "@/lib/testing/rows/equal-keys";
import { remoteFixture } from "./remote-fixture";
import type { Answer } from "./web";
import {
  again,
  BODIES,
  KB,
  keyed,
  LEAVE_BEHIND,
  LEAVE_ERRORS,
  LISTS,
  list,
  NIL,
  PEM,
  QUERIES,
  READS,
  SLOW_SCHEMA,
  TOKEN,
  times,
} from "./worst-requests";

/** No request may block the event loop for 100 ms. A busy machine gets five times that. */
const MOST_MS = 500;
/** Five times the longest turn of a list that is masked row by row. */
const MOST_MS_OF_LIST = 100;
/** The second request finds warm code, as in a process that has run for a while. */
const ROUNDS = 3;
const MOST_ROUNDS = 12;

const database = await testDatabase();
const { web, key, superKey, define, admin, acme, remote } = await remoteFixture(database, {}, { probed: true });

const held: { readonly name: string; readonly ms: number }[] = [];
afterAll(() => {
  const [longest, ...others] = held
    .toSorted((a, b) => b.ms - a.ms)
    .map(({ name, ms }) => `${ms.toFixed(0)} ms: ${name}`);
  process.stdout.write(`The event loop of web was held for ${longest}; then ${others.slice(0, 5).join("; ")}\n`);
});

/**
 * Sends a request a few times, until it is answered, and fails if it held the event loop of web each time.
 * @returns the last answer, unless that is 503: under load a route may exceed its time, which blocks no event loop
 */
async function expectShort(
  name: string,
  send: () => Promise<Answer>,
  statuses: readonly number[],
  mostMs = MOST_MS,
): Promise<Answer> {
  let ms = Number.POSITIVE_INFINITY;
  let answered: Answer | undefined;
  for (let round = 0; round < ROUNDS || (!answered && round < MOST_ROUNDS); round += 1) {
    await web.longestHold();
    const answer = await send();
    ms = Math.min(ms, await web.longestHold());
    expect([...statuses, 503], `${name}: ${answer.text.slice(0, 500)}`).toContain(answer.status);
    if (answer.status !== 503) answered = answer;
  }
  if (!answered) throw new Error(`${name} was never answered`);
  held.push({ name, ms });
  expect.soft(ms, name).toBeLessThan(mostMs);
  return answered;
}

const post =
  (path: string, body: unknown, as = key) =>
  () =>
    web.call("POST", `/api/v1/${path}`, { key: as, body });
await define({ key: "slow", arg_schema: SLOW_SCHEMA });

const triggers = async (event_name: string, body: object, count: number) => {
  for (let at = 0; at < count; at += 1) {
    const made = await post("jobs/triggers", {
      label: `${event_name} ${at}`,
      trigger_type: "event",
      event_name,
      definition_key: "any",
      ...body,
    })();
    expect(made.status, made.text).toBe(201);
  }
};

test("no request body within the limits blocks the event loop of web", async () => {
  await triggers("compared", { condition: `${times(8, () => "event.a==event.b").join("&&")}&&false` }, 20);
  await triggers("copied", { payload_template: { all: "{{event}}" } }, 20);
  for (const [name, path, body, statuses] of BODIES) await expectShort(name, post(path, body), statuses);
}, 300_000);

const CREDENTIALS = { email: admin.email, password: again("aA1!", 1000 * KB) };
test("no query, page or sign-in blocks the event loop of web", async () => {
  for (const [path, statuses] of QUERIES)
    await expectShort(`GET ${path.slice(0, 60)}`, () => web.call("GET", path, { key }), statuses);
  await expectShort(
    "a sign-in with a long password",
    () =>
      web.call("POST", "/api/auth/callback/credentials", {
        body: CREDENTIALS,
        headers: { "sec-fetch-site": "same-origin" },
      }),
    [200, 302, 400, 401, 403, 413, 422],
  );
  await expectShort(
    "a sign-in with a short password",
    () => web.call("POST", "/api/auth/callback/credentials", { body: { ...CREDENTIALS, password: "wrong" } }),
    [200, 302, 400, 401, 403, 422],
  );
  // With a cookie in the form of a session, so that pages are rendered.
  const cookies = (count: number) =>
    [`leasehold.session=${again("A", 43)}`, ...times(count - 1, (at) => `leasehold.session${at}=`)].join(";");
  for (const path of ["/api/auth/session", "/api/auth/csrf", "/t/x/jobs", `/?${again("a&", 199)}`])
    for (const count of [180, 700])
      await expectShort(
        `${count} cookies at ${path.slice(0, 60)}`,
        () => web.call("GET", path, { cookie: cookies(count) }),
        count > 180 ? [400] : [200, 307],
      );
  const cookie = await web.login(admin);
  for (const bit of ["aA1!", "p4ssw0rd", "1qaz", "абв"])
    await expectShort(
      `a new password of ${bit}`,
      () =>
        web.call("POST", "/api/v1/me/password", {
          cookie,
          body: { current_password: "wrong wrong wrong", new_password: again(bit, 250) },
        }),
      [422, 429],
    );
}, 120_000);

test("no argument schema blocks the event loop of web", async () => {
  for (const [name, arg_schema] of [
    ["alternatives", { anyOf: times(3500, () => ({ minLength: 1 })) }],
    ["properties", { properties: keyed(290, () => ({ type: "string", maxLength: 9 })) }],
    [
      "references",
      { allOf: times(200, (at) => ({ $ref: `#/$defs/k${at}` })), $defs: keyed(200, () => ({ minLength: 1 })) },
    ],
  ] as const)
    await expectShort(
      `a definition of ${name}`,
      post("admin/jobs/definitions", { key: `d${name}`, arg_schema }, superKey),
      [201, 409, 422],
    );
});

test("no list of job output blocks the event loop of web, or answers with more than a megabyte", async () => {
  const made = await post("jobs", { definition_key: "any", payload: {} })();
  for (const statement of LEAVE_BEHIND) await database.query(statement, [made.body.id]);
  for (const read of READS) {
    const get = () => web.call("GET", `/api/v1/jobs/${made.body.id}/${read}`, { key });
    const answer = await expectShort(`GET ${read}`, get, [200], MOST_MS_OF_LIST);
    expect.soft(answer.text.length, read).toBeLessThan(1024 * KB);
  }
}, 240_000);

test("no list blocks the event loop of web", async () => {
  await post("jobs/bulk", { jobs: times(200, () => ({ definition_key: "any", payload: {} })) })();
  await triggers("listed", { payload_template: { list } }, 20);
  for (const statement of LEAVE_ERRORS) await database.query(statement, [acme.id]);
  for (const path of LISTS) {
    const get = () => web.call("GET", `/api/v1/${path}`, { key });
    const answer = await expectShort(`GET ${path}`, get, [200], MOST_MS_OF_LIST);
    expect(answer.text.length, path).toBeGreaterThan(300 * KB);
  }
}, 240_000);

test("no message of a remote worker blocks the event loop of web", async () => {
  const worker = await remote({ tenantId: acme.id });
  const RESULTS: readonly [string, unknown][] = [
    ["of private keys", { a: again(PEM, 1000 * KB) }],
    ["of tokens", { a: again(TOKEN, 1000 * KB) }],
    ["of many values", times(200_000, () => 1)],
    ["of many keys", keyed(60_000)],
    ["of keys that become equal", withEqualKeys(9_000)],
    ["of deep lists", JSON.parse("[".repeat(60) + "]".repeat(60))],
  ];
  for (const [name, result] of RESULTS) {
    const body = { lease_no: 1, result };
    await expectShort(`a result ${name} without a lease`, () => worker.post(`jobs/${NIL}/complete`, body), [409, 422]);
    for (let round = 0; round < ROUNDS; round += 1)
      await post("jobs", { definition_key: worker.definition, payload: {} })();
    const claimed = await worker.claim();
    let next = 0;
    await expectShort(`a result ${name}`, () => {
      const { job_id, lease_no } = claimed[Math.min(next++, claimed.length - 1)];
      return worker.post(`jobs/${job_id}/complete`, { lease_no, result });
    }, [200, 422]);
  }
  await post("jobs", { definition_key: worker.definition, payload: {} })();
  const [{ job_id, lease_no }] = await worker.claim();
  let seq = 0;
  for (const bit of [PEM, TOKEN, "a@", "password="]) {
    const logs = () => times(60, () => ({ seq: seq++, message: again(bit, 16 * KB) }));
    await expectShort(
      `lines of ${bit}`,
      () => worker.post(`jobs/${job_id}/heartbeat`, { lease_no, logs: logs() }),
      [200],
    );
  }
  await expectShort(
    "an error",
    () => worker.post(`jobs/${job_id}/fail`, { lease_no, message: again(TOKEN, 7 * KB) }),
    [200, 409],
  );
  for (let batch = 0; batch < 13; batch += 1)
    await post("jobs/bulk", {
      jobs: times(4, () => ({ definition_key: worker.definition, payload: { a: again("a", 240 * KB) } })),
    })();
  await web.longestHold();
  expect((await worker.claim({ limit: 50 })).length).toBeGreaterThan(10);
  const ms = await web.longestHold();
  held.push({ name: "a claim of 50 large jobs", ms });
  expect(ms).toBeLessThan(MOST_MS);
}, 180_000);
