/*
 * Tests of the HTTP API with the built front. `startWeb` below starts it on a test database; `queue-fixture.ts` adds
 * tenants, keys and definitions, `remote-fixture.ts` and `trigger-fixture.ts` build on that.
 */

import { expect } from "vitest";
import type { TestDatabase } from "@/lib/testing/database";
import { type StartOptions, startProcess, type TestProcess } from "@/lib/testing/processes";
import type { TestUser } from "@/lib/testing/rows/accounts";

export interface Call {
  readonly key?: string | undefined;
  readonly cookie?: string | undefined;
  readonly tenant?: string | undefined;
  /** Sent as JSON; a string is sent unchanged. */
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
  readonly pid: number;
  call(method: string, path: string, call?: Call): Promise<Answer>;
  /** Signs in through the login route and returns the Cookie header of the session. */
  login(user: TestUser): Promise<string>;
  /** Returns what the process has logged so far. */
  log(): string;
  longestHold: TestProcess["longestHold"];
  /** Sends SIGTERM and waits; returns the exit code. */
  stop(): Promise<number | null>;
}

/** Starts the built front on a test database; it ends with the test file. */
export async function startWeb(
  database: TestDatabase,
  env: Record<string, string> = {},
  { probed = false }: Pick<StartOptions, "probed"> = {},
): Promise<Web> {
  const process = await startProcess("web", { database, env: { SHUTDOWN_GRACE_SECONDS: "3", ...env }, probed });
  const { url, pid, longestHold } = process;
  const call = (method: string, path: string, options: Call = {}) => send(url, method, path, options);
  const stop = async () => (await process.stop()).code;
  return { url, pid, longestHold, call, login: (user) => logIn(call, user), log: process.output, stop };
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

/** Returns the cookies that an answer sets, as the next request sends them. */
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
