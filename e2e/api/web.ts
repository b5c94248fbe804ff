import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterAll, expect } from "vitest";
import type { TestUser } from "@/lib/testing/accounts";
import type { TestDatabase } from "@/lib/testing/database";
import { builtWeb } from "./built-web";

export interface Call {
  readonly key?: string | undefined;
  readonly cookie?: string | undefined;
  readonly tenant?: string | undefined;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape is what they test
  readonly body: any;
}

export interface Web {
  readonly url: string;
  readonly process: ChildProcess;
  call(method: string, path: string, call?: Call): Promise<Answer>;
  /** Signs in through the login route and returns the Cookie header of the session. */
  login(user: TestUser): Promise<string>;
  /** What the process has logged so far. */
  log(): string;
  /** Sends SIGTERM and waits; returns the exit code. */
  stop(): Promise<number | null>;
}

const READY_MS = 30_000;

/** Starts the built front on a database of its own, and stops it after the test file. */
export async function startWeb(database: TestDatabase, env: Record<string, string> = {}): Promise<Web> {
  const entry = await builtWeb();
  const child = spawn(process.execPath, ["--enable-source-maps", entry], {
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: {
      PATH: process.env.PATH ?? "",
      NODE_ENV: "production",
      LEASEHOLD_TEST_BUILD: "1",
      DATABASE_URL: database.adminUrl,
      LEASEHOLD_SECRET: database.secret,
      PORT: "0",
      SHUTDOWN_GRACE_SECONDS: "3",
      ...env,
    },
  });
  let output = "";
  child.stdout?.on("data", (chunk: Buffer) => (output += chunk));
  child.stderr?.on("data", (chunk: Buffer) => (output += chunk));
  const stop = () => stopChild(child);
  afterAll(stop);
  const port = await readyPort(child, () => output);
  const url = `http://127.0.0.1:${port}`;
  const call = (method: string, path: string, options: Call = {}) => send(url, method, path, options);
  return { url, process: child, call, login: (user) => logIn(call, user), log: () => output, stop };
}

async function readyPort(child: ChildProcess, output: () => string): Promise<number> {
  const signal = AbortSignal.timeout(READY_MS);
  const exited = once(child, "exit", { signal }).then(() => Promise.reject(new Error(`the front ended: ${output()}`)));
  const [message] = (await Promise.race([once(child, "message", { signal }), exited])) as [
    { type: string; port: number },
  ];
  exited.catch(() => {});
  expect(message.type).toBe("ready");
  return message.port;
}

async function stopChild(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
  return child.exitCode;
}

async function send(url: string, method: string, path: string, options: Call): Promise<Answer> {
  const { key, cookie, tenant, body } = options;
  const headers = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(cookie === undefined ? {} : { cookie, "sec-fetch-site": "same-origin" }),
    ...(tenant === undefined ? {} : { "x-tenant-id": tenant }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...options.headers,
  };
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(url + path, { method, headers, body: text ?? null, redirect: "manual" });
  const sent = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "") && sent !== "";
  return {
    status: response.status,
    headers: response.headers,
    text: sent,
    body: isJson ? JSON.parse(sent) : undefined,
  };
}

async function logIn(call: Web["call"], { email, password }: TestUser): Promise<string> {
  const csrf = await call("GET", "/api/auth/csrf");
  const cookie = cookiesOf(csrf);
  const body = { csrfToken: csrf.body.csrfToken, email, password, callbackUrl: "/" };
  const answer = await call("POST", "/api/auth/callback/credentials", { cookie, body });
  expect(answer.status, answer.text).toBe(200);
  return `${cookie}; ${cookiesOf(answer)}`;
}

/** The cookies that an answer sets, as the next request sends them. */
export function cookiesOf(answer: Answer): string {
  return answer.headers
    .getSetCookie()
    .map((cookie) => cookie.split(";")[0])
    .join("; ");
}

/** Checks an error answer and returns its body. */
export function expectProblem(answer: Answer, status: number, code: string) {
  expect([answer.status, answer.body?.code], answer.text).toEqual([status, code]);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  expect(answer.headers.get("cache-control")).toBe("private, no-store");
  expect(answer.body).toMatchObject({
    status,
    request_id: answer.headers.get("x-request-id"),
    type: `/docs/errors/${code}`,
  });
  return answer.body;
}
