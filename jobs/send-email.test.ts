import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { holdSecrets } from "@/lib/env/secret-source.mjs";
import { type CommandRegistry, executeHandler } from "@/lib/execution";
import {
  makeTestFolder,
  memorySteps,
  noEvents,
  registryOf,
  type TestFolder,
  testContext,
} from "@/lib/execution/test-support";
import { compileArgSchema } from "@/lib/queue/testing";
import { sendEmail } from "./handlers/send-email";
import { builtinDefinitions } from "./index";

const setServer = (SMTP_URL?: string) =>
  holdSecrets({ values: SMTP_URL === undefined ? {} : { SMTP_URL }, files: [], problems: [] });

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: string;
  readonly user: string | undefined;
}

let folder: TestFolder;
let registry: CommandRegistry;
let server: SMTPServer;
let mails: Mail[];
/** The server's refusals by stage; undefined means it accepts. */
let refuse: { login?: number; recipient?: (address: string) => number | undefined; data?: number };

const refusal = (responseCode: number) => Object.assign(new Error("canary of the server"), { responseCode });

const options: SMTPServerOptions = {
  authOptional: true,
  disabledCommands: ["STARTTLS"],
  onAuth: ({ username }, _session, done) =>
    refuse.login === undefined ? done(null, { user: username }) : done(refusal(refuse.login)),
  onRcptTo: ({ address }, _session, done) => {
    const code = refuse.recipient?.(address);
    done(code === undefined ? null : refusal(code));
  },
  onData: (stream, session, done) =>
    void text(stream).then((raw) => {
      if (refuse.data !== undefined) return done(refusal(refuse.data));
      const { mailFrom, rcptTo } = session.envelope;
      const from = mailFrom === false ? "" : mailFrom.address;
      mails.push({ from, to: rcptTo.map(({ address }) => address), raw, user: session.user });
      done(null);
    }),
};

beforeAll(async () => {
  folder = await makeTestFolder();
  registry = await registryOf(folder, {});
});
afterAll(() => folder.remove());
beforeEach(async () => {
  mails = [];
  refuse = {};
  server = new SMTPServer(options);
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  setServer(`smtp://mailer:canary-password@127.0.0.1:${(server.server.address() as AddressInfo).port}`);
  process.env.MAIL_FROM = "Leasehold <jobs@example.test>";
});
afterEach(async () => {
  setServer();
  delete process.env.MAIL_FROM;
  await new Promise<void>((resolve) => server.close(resolve));
});

const MAIL = {
  to: "ada@example.test",
  subject: "Zahlung – 支払い",
  text: "Grüße\n.\nEnd",
  html: "<p>Grüße</p>",
  reply_to: "help@example.test",
};

async function run(payload: unknown, jobId = "019e0000-0000-7000-8000-000000000001", { steps } = memorySteps()) {
  const context = testContext({ payload, jobId });
  const transaction = () => Promise.reject(new Error("no database here"));
  const { outcome } = await executeHandler(sendEmail, {
    ...context.ctx,
    registry,
    transaction,
    publishEvent: noEvents,
    steps,
  });
  return outcome;
}

test("F-02 a mail arrives as requested, with the job's Message-ID in every attempt", async () => {
  const message_id = "<019e0000-0000-7000-8000-000000000001@example.test>";
  expect(await run(MAIL)).toEqual({ kind: "succeeded", result: { message_id, accepted: [MAIL.to], rejected: [] } });
  expect(await run({ ...MAIL, to: ["ada@example.test", "bob@example.test"] })).toMatchObject({ kind: "succeeded" });
  const [first, second] = mails;
  expect(first).toMatchObject({ from: "jobs@example.test", to: ["ada@example.test"], user: "mailer" });
  expect(second?.to).toEqual(["ada@example.test", "bob@example.test"]);
  for (const { raw } of mails) {
    expect(raw).toContain(`Message-ID: ${message_id}`);
    expect(raw).toContain("From: Leasehold <jobs@example.test>");
    expect(raw).toContain("Reply-To: help@example.test");
    expect(raw).toMatch(/^Auto-Submitted: auto-generated$/im);
    expect(raw).toMatch(/^Subject: =\?UTF-8\?/im);
  }
});

test.each([
  ["a subject with a line break", { subject: "Hi\r\nBcc: evil@example.test" }],
  ["a subject with a line separator", { subject: "Hi\u2028Bcc: evil@example.test" }],
  ["an address with a line break", { to: "ada@example.test\r\nBcc: evil@example.test" }],
  ["two addresses in one", { to: "ada@example.test, evil@example.test" }],
  ["a name around an address", { to: "Ada <ada@example.test>" }],
  ["no address", { to: "ada" }],
  ["a NUL in an address", { to: "a\u0000da@example.test" }],
  ["an invisible character in an address", { to: "ad\u200ba@example.test" }],
  ["a control character in a reply-to", { reply_to: "a\u007f@example.test" }],
  ["a group of addresses", { to: "friends:ada@example.test;" }],
  ["a hidden recipient", { bcc: "evil@example.test" }],
  ["51 addresses", { to: Array.from({ length: 51 }, (_, n) => `a${n}@example.test`) }],
  ["a reply-to with a line break", { reply_to: "a@b.test\nX-Evil: 1" }],
  ["attachments", { attachments: [{ path: "/etc/passwd" }] }],
])("%s is refused by the schema and sends nothing", async (_what, change) => {
  const schema = builtinDefinitions.find(({ key }) => key === "send-email")?.arg_schema ?? {};
  expect(compileArgSchema(schema)({ ...MAIL, ...change })).not.toEqual([]);
  expect(await run({ ...MAIL, ...change })).toMatchObject({
    kind: "failed",
    errorType: "validation",
  });
  expect(mails).toEqual([]);
});

test("a permanent refusal is not retried, a temporary one is, and neither contains the password", async () => {
  const failed = async () => {
    const outcome = await run(MAIL);
    expect(JSON.stringify(outcome)).not.toContain("canary-password");
    return outcome;
  };
  refuse = { data: 550 };
  expect(await failed()).toMatchObject({ kind: "failed", errorType: "invalid_input", retryable: false });
  refuse = { recipient: () => 550 };
  expect(await failed()).toMatchObject({ kind: "failed", errorType: "invalid_input", retryable: false });
  refuse = { login: 535 };
  expect(await failed()).toMatchObject({ kind: "failed", errorType: "authentication", retryable: false });
  for (const temporary of [{ data: 451 }, { recipient: () => 450 }]) {
    refuse = temporary;
    const outcome = await failed();
    expect(outcome).toMatchObject({
      kind: "failed",
      errorType: "rate_limit",
      message: expect.stringContaining("canary of the server"),
    });
    expect(outcome).not.toHaveProperty("retryable");
  }
  expect(mails).toEqual([]);
});

test("refused recipients are listed by name", async () => {
  refuse = { recipient: (address) => (address.startsWith("no") ? 550 : undefined) };
  expect(await run({ ...MAIL, to: ["yes@example.test", "no@example.test"] })).toMatchObject({
    kind: "succeeded",
    result: { accepted: ["yes@example.test"], rejected: ["no@example.test"] },
  });
});

test("a refused recipient is recognised in every spelling and gets no second mail", async () => {
  refuse = { recipient: (address) => (address.startsWith("no") ? 550 : undefined) };
  const to = ["no@Example.TEST", "yes@EXAMPLE.test", "yes@example.test"];
  expect(await run({ ...MAIL, to })).toMatchObject({
    kind: "succeeded",
    result: { accepted: ["yes@example.test"], rejected: ["no@example.test"] },
  });
  expect(mails.map(({ to }) => to)).toEqual([["yes@example.test"]]);
});

test.each([
  ["from the start", { secure: true }, "smtps"],
  ["by STARTTLS", { disabledCommands: [] }, "smtp"],
])("a mail is sent over TLS, %s, and not to a server with an untrusted certificate", async (_, change, scheme) => {
  const secured = new SMTPServer({ ...options, ...change });
  secured.on("error", () => undefined);
  secured.listen(0, "127.0.0.1");
  await once(secured.server, "listening");
  const url = `${scheme}://127.0.0.1:${(secured.server.address() as AddressInfo).port}`;
  setServer(url);
  expect(await run(MAIL)).toMatchObject({ kind: "failed", errorType: "transient_network" });
  setServer(`${url}?tls.rejectUnauthorized=false`);
  expect(await run(MAIL)).toMatchObject({ kind: "succeeded" });
  expect(mails).toHaveLength(1);
  await new Promise<void>((resolve) => secured.close(resolve));
});

test("a stopped attempt disconnects from a server that does not answer, and the mail is not sent later", async () => {
  const silent = createServer();
  silent.listen(0, "127.0.0.1");
  await once(silent, "listening");
  setServer(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const { ctx, stop } = testContext({ payload: MAIL });
  const transaction = () => Promise.reject(new Error("no database here"));
  const running = executeHandler(sendEmail, {
    ...ctx,
    registry,
    transaction,
    publishEvent: noEvents,
    steps: memorySteps().steps,
  });
  const [connection] = await once(silent, "connection");
  connection.write("220 silent.example.test\r\n");
  await once(connection, "data");
  const began = performance.now();
  stop("cancel");
  await once(connection, "close");
  expect(await running).toMatchObject({ outcome: { kind: "canceled" } });
  expect(performance.now() - began).toBeLessThan(5000);
  silent.close();
});

test("an unreachable server is retried; missing settings or a missing text are not", async () => {
  await new Promise<void>((resolve) => server.close(resolve));
  expect(await run(MAIL)).toMatchObject({ kind: "failed", errorType: "transient_network" });
  setServer();
  expect(await run(MAIL)).toMatchObject({ errorType: "internal", retryable: false });
  setServer("smtp://127.0.0.1:1");
  expect(await run({ to: MAIL.to, subject: "Hi" })).toMatchObject({ errorType: "validation" });
});

test.each([
  [451, 550],
  [550, 451],
])(
  "deferred recipients are retried, refused ones are reported, accepted ones get one mail (%i, %i)",
  async (...codes) => {
    const [one, two] = codes.map((code, index) => `${code === 451 ? "later" : "never"}${index}@example.test`) as [
      string,
      string,
    ];
    const later = one.startsWith("later") ? one : two;
    const never = one.startsWith("never") ? one : two;
    const mail = { ...MAIL, to: [one, "ok@example.test", two] };
    const steps = memorySteps();
    refuse = { recipient: (address) => (address === later ? 451 : address === never ? 550 : undefined) };
    const first = await run(mail, undefined, steps);
    expect(first).toMatchObject({ kind: "failed", errorType: "rate_limit", message: expect.stringContaining(later) });
    expect(first).not.toHaveProperty("retryable");
    refuse = {};
    expect(await run(mail, undefined, steps)).toMatchObject({
      kind: "succeeded",
      result: { accepted: mail.to.filter((to) => to !== never), rejected: [never], refusals: [{ address: never }] },
    });
    expect(mails.map(({ to }) => to)).toEqual([["ok@example.test"], [later]]);
  },
);

test("when no recipient is accepted, refused ones do not hide deferred ones", async () => {
  const mail = { ...MAIL, to: ["later@example.test", "never@example.test"] };
  const steps = memorySteps();
  refuse = { recipient: (address) => (address.startsWith("later") ? 451 : 550) };
  expect(await run(mail, undefined, steps)).toMatchObject({ errorType: "rate_limit" });
  refuse = { recipient: () => 550 };
  expect(await run(mail, undefined, steps)).toMatchObject({ errorType: "invalid_input", retryable: false });
  expect(mails).toEqual([]);
});

test.each(["a\r.\rMAIL FROM:<x@example.com>\rb", "a\n.\nb", "a\r\n.\r\nb", "a\r\r\n\n\rb", "ü\r.\rü"])(
  "bare CR and LF become CRLF: %j",
  async (body) => {
    expect(await run({ ...MAIL, text: body, html: body })).toMatchObject({ kind: "succeeded" });
    expect(mails).toHaveLength(1);
    expect(mails[0]?.raw.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
  },
);

test.each([
  ["neither text nor html", { to: "a@b.test", subject: "x" }, "", /text.*html/],
  ["a bad address", { ...MAIL, to: "ada" }, "/to", /./],
  ["a bad address in a list", { ...MAIL, to: ["a@b.test", "ada"] }, "/to/1", /./],
  ["no address at all", { ...MAIL, to: [] }, "/to", /./],
  ["a number", { ...MAIL, to: 7 }, "/to", /./],
])("%s is one error of the schema", (_what, payload, pointer, detail) => {
  const schema = builtinDefinitions.find(({ key }) => key === "send-email")?.arg_schema ?? {};
  expect(compileArgSchema(schema)(payload)).toEqual([
    expect.objectContaining({ pointer, detail: expect.stringMatching(detail) }),
  ]);
});
