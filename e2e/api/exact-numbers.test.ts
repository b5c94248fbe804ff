import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { remoteFixture } from "./remote-fixture";

const database = await testDatabase();
const fixture = await remoteFixture(database);
const { web, key, superKey, enqueue } = fixture;

/** Numbers that a double would round. */
const NUMBERS = ["1152921504606846976", "-9007199254740993", "0.1000000000000000055511151231257827", "1e400", "1e-400"];
const ID = { integer: "1", string: "01890000-0000-7000-8000-000000000000" } as const;

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}
interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly "x-permission": string;
}
const document = (await web.call("GET", "/api/v1/openapi.json")).body;
const components: Readonly<Record<string, Schema>> = document.components.schemas;
const SAYS_NOTHING = new Set(["description", "default", "title", "examples"]);

/** Pointers to fields that take any JSON or a decimal number, such as `/jobs/0/payload`. */
function* doors(given: Schema, at = "", seen: readonly string[] = []): Generator<{ at: string; isFree: boolean }> {
  const name = given.$ref?.replace(/^.*\//, "");
  if (name !== undefined && seen.includes(name)) return;
  const within = name === undefined ? seen : [...seen, name];
  const schema = name === undefined ? given : (components[name] ?? {});
  const isFree =
    Object.keys(schema).every((keyword) => SAYS_NOTHING.has(keyword)) || schema.additionalProperties === true;
  if (isFree || schema.type === "number") yield { at, isFree };
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* doors(part, at, within);
  for (const [property, part] of Object.entries(schema.properties ?? {}))
    yield* doors(part, `${at}/${property}`, within);
  if (schema.items) yield* doors(schema.items, `${at}/0`, within);
  if (typeof schema.additionalProperties === "object") yield* doors(schema.additionalProperties, `${at}/any`, within);
}

/** Returns the JSON text of a body with the given text at a pointer. */
function bodyWith(at: string, json: string): string {
  const steps = at.split("/").slice(1).toReversed();
  return steps.reduce((inner, step) => (step === "0" ? `[${inner}]` : `{${JSON.stringify(step)}:${inner}}`), json);
}

const { key: workerKey } = await fixture.remote();
const DOORS = Object.entries<Record<string, Operation>>(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody, parameters = [], "x-permission": permission }]) => {
    const schema = requestBody?.content["application/json"]?.schema;
    const as = permission === "worker" ? workerKey : permission.startsWith("platform:") ? superKey : key;
    const route = `${method.toUpperCase()} ${path}`;
    const idOf = (name: string) =>
      ID[parameters.find((one) => one.name === name)?.schema.type === "integer" ? "integer" : "string"];
    const url = path.replace(/\{(\w+)\}/g, (_all, name: string) => idOf(name));
    return schema ? [...doors(schema)].map((door) => ({ route, method: method.toUpperCase(), url, as, ...door })) : [];
  }),
);
/** Worker routes clean a result instead of refusing it, because recording the end of an attempt must not fail. */
const CLEANED = "POST /api/v1/worker/jobs/{jobId}/complete /result";

test("every field that takes arbitrary JSON or a decimal refuses a number that would lose digits, with a pointer", async () => {
  const free = DOORS.flatMap(({ route, at, isFree }) => (isFree ? [`${route} ${at}`] : []));
  expect(free).toEqual(
    expect.arrayContaining(["POST /api/v1/jobs /payload", "POST /api/v1/events /events/0/data", CLEANED]),
  );
  const seen = new Set<string>();
  for (const { route, method, url, as, at, isFree } of DOORS) {
    if (`${route} ${at}` === CLEANED || seen.has(`${route} ${at}`)) continue;
    seen.add(`${route} ${at}`);
    // Fields for any JSON get every kind of number. One kind suffices where the schema bounds numbers.
    for (const number of isFree ? NUMBERS : NUMBERS.slice(2, 3)) {
      const body = bodyWith(at, isFree ? `{"n":[${number}]}` : number);
      const answer = await web.call(method, url, { key: as, body });
      const pointers = (answer.body?.errors ?? []).map(({ pointer }: { pointer: string }) => pointer);
      expect([answer.status, pointers], `${route} ${at} = ${number}: ${answer.text}`).toEqual([
        422,
        expect.arrayContaining([isFree ? `${at}/n/0` : at]),
      ]);
    }
  }
});

test("the result of a remote worker keeps all digits of such numbers as strings", async () => {
  const far = await fixture.remote();
  const { id } = await enqueue({ definition_key: far.definition });
  const [{ lease_no }] = await far.claim();
  const body = `{"lease_no":${lease_no},"result":{"n":[${NUMBERS}],"plain":[0.1,9007199254740991,5e-324,-0,1.50]}}`;
  const done = await web.call("POST", `/api/v1/worker/jobs/${id}/complete`, { key: far.key, body });
  expect(done.status, done.text).toBe(200);
  const { text } = await web.call("GET", `/api/v1/jobs/${id}`, { key });
  expect(text).toContain(JSON.stringify(NUMBERS));
  expect(text).toMatch(/"plain":\[0\.1,9007199254740991,5e-324,0,1\.5\]/);
});

test("numbers that a double represents exactly are stored with all their digits", async () => {
  const payload =
    "[0.1,0.30000000000000004,9007199254740991,-9007199254740991,5e-324,12.34e-56,0.00000000000000000001]";
  const retry = '"retry_delay_seconds":0.30000000000000004,"retry_multiplier":1.0000000000000002';
  const answer = await web.call("POST", "/api/v1/jobs", {
    key,
    body: `{"definition_key":"any","payload":${payload},${retry}}`,
  });
  expect(answer.status, answer.text).toBe(201);
  const { text } = await web.call("GET", `/api/v1/jobs/${answer.body.id}`, { key });
  const stored = "select retry_delay_seconds as delay, retry_multiplier as multiplier from app.jobs where id = $1";
  expect(await database.query(stored, [answer.body.id])).toEqual([
    { delay: 0.30000000000000004, multiplier: 1.0000000000000002 },
  ]);
  expect(text).toContain(`"payload":${JSON.stringify(JSON.parse(payload))}`);
});
