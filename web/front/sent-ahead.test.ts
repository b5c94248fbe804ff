import { once } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { eventually } from "@/lib/testing/eventually";
import type { FrontOptions } from "./front";
import { get, openFront } from "./front.fixture";

const one = (path = "/api/v1/me") => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`;

/** A front before a framework that notes each request and answers when the test says so. */
async function openNoting() {
  const asked: string[] = [];
  const answers: (() => void)[] = [];
  const next: FrontOptions["next"] = () => async (req, res) => {
    asked.push(`${req.url}`);
    answers.push(() => res.end(`answer to ${req.url}`));
  };
  return { ...(await openFront({ next })), asked, answers };
}

test("a connection with more than sixteen requests in progress is closed", async () => {
  const { dial, asked, answers } = await openNoting();
  const flood = await dial(one().repeat(1500));
  flood.resume();
  await eventually(() => expect(flood.closed).toBe(true));
  expect(asked).toHaveLength(1);
  const patient = await dial(one().repeat(16));
  patient.resume();
  for (let no = 1; no <= 16; no += 1) {
    await eventually(() => expect(asked).toHaveLength(1 + no));
    answers[no]?.();
  }
  patient.write(one());
  await eventually(() => expect(asked).toHaveLength(18));
});

test("requests of one connection reach the framework one after the other, each after the answer to the one before", async () => {
  const { dial, asked, answers } = await openNoting();
  const client = await dial(one("/api/v1/me?1") + one("/api/v1/nothing?2") + one("/api/v1/me?3"));
  let received = "";
  client.on("data", (data) => {
    received += data;
  });
  client.write(one("/api/v1/me?4"));
  const later = await dial(one("/api/v1/me?5"));
  later.resume();
  await eventually(() => expect(asked).toContain("/api/v1/me?5"));
  expect(asked).not.toContain("/api/v1/me?3");
  for (const path of ["/api/v1/me?1", "/api/v1/me?3", "/api/v1/me?4"]) {
    await eventually(() => expect(asked).toContain(path));
    for (const answer of answers.splice(0)) answer();
  }
  await eventually(() => expect(received).toMatch(/me\?1[\s\S]*404[\s\S]*me\?3[\s\S]*me\?4/));
});

test("a request behind an unread answer does not reach the framework, and is dropped when its connection closes", async () => {
  const asked: string[] = [];
  const next: FrontOptions["next"] = () => async (req, res) => {
    asked.push(`${req.url}`);
    res.end(req.url === "/api/v1/me" ? Buffer.alloc(32 * 1024 * 1024) : "x");
  };
  const { server, dial, ask } = await openFront({ next });
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const unread = await dial("");
  unread.pause();
  unread.write(one() + one("/api/v1/jobs").repeat(9));
  const [socket] = await accepted;
  await eventually(() => expect(asked).toEqual(["/api/v1/me"]));
  unread.destroy();
  await eventually(() => expect(socket.closed).toBe(true));
  expect(await ask(get("/api/v1/events", "host: localhost"))).toContain("x");
  expect(asked).toEqual(["/api/v1/me", "/api/v1/events"]);
});

test("a body that arrived while its request waited has the same limit as others", async () => {
  const { dial, ask, answers } = await openNoting();
  const chunked = "host: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
  const large = `${(40_000).toString(16)}\r\n${"x".repeat(40_000)}\r\n0\r\n\r\n`;
  const client = await dial(`${one()}POST /api/auth/callback/credentials HTTP/1.1\r\n${chunked}${large}`);
  let received = "";
  client.on("data", (data) => {
    received += data;
  });
  await eventually(() => expect(answers).toHaveLength(1));
  expect(await ask(get("/nothing/here", "host: evil.test"))).toMatch(/^HTTP\/1.1 421 /);
  answers[0]?.();
  await eventually(() => expect(received).toMatch(/HTTP\/1.1 413 [\s\S]*body-too-large/));
});
