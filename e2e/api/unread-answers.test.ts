import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { testDatabase } from "@/lib/testing/database";
import { eventually } from "@/lib/testing/eventually";
import { queueFixture } from "./queue-fixture";
import { expectProblem } from "./web";

const database = await testDatabase();
const { web, key, define } = await queueFixture(database, { TRUSTED_PROXIES: "127.0.0.0/8" });
const { hostname, port } = new URL(web.url);
const PATH = "/api/v1/jobs/triggers";
/** The largest templates that a tenant can have fill one page of the list. */
const TEMPLATES = 16;

/** Requests the list from a network and never reads the answer. Returns the function that closes the connections. */
function leaveUnread(count: number, address: string, encoding: string): () => void {
  const head = [`GET ${PATH} HTTP/1.1`, "host: 127.0.0.1", `authorization: Bearer ${key}`];
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.pause();
    socket.write([...head, `x-forwarded-for: ${address}`, `accept-encoding: ${encoding}`, "", ""].join("\r\n"));
    return socket;
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

await define({ key: "unread" });
const text = randomBytes(190_000).toString("base64").slice(0, 250_000);
for (let no = 0; no < TEMPLATES; no += 1) {
  const body = { label: `t${no}`, trigger_type: "event", event_name: `e${no}`, definition_key: "unread" };
  const made = await web.call("POST", PATH, { key, body: { ...body, payload_template: { text } } });
  expect(made.status, made.text).toBe(201);
}

test.each(["identity", "gzip"])(
  "a network that leaves large answers in %s unread is refused, and others are answered",
  async (encoding) => {
    const list = (address: string) => web.call("GET", PATH, { key, headers: { "x-forwarded-for": address } });
    const me = (address: string) => web.call("GET", "/api/v1/me", { key, headers: { "x-forwarded-for": address } });
    const close = leaveUnread(30, "198.51.100.7", encoding);
    await eventually(async () => {
      const refused = await me("198.51.100.200");
      expect(expectProblem(refused, 503, "unavailable").detail).toContain("unread");
    });
    const whole = await list("203.0.113.5");
    expect([whole.status, whole.body.data.length]).toEqual([200, TEMPLATES]);
    close();
    await eventually(async () => expect((await me("198.51.100.200")).status).toBe(200));
  },
);
