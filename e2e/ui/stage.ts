/*
 * Browser tests of the console. `openStage` below starts a real installation and a browser, and signs users in. Every
 * page is watched: an error in its console fails the test file.
 */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright";
import { afterAll, expect, onTestFailed } from "vitest";
import type { Job } from "@/lib/contract";
import { testDatabase } from "@/lib/testing/database";
import { patiently } from "@/lib/testing/patiently";
import { startProcess, waitFor } from "@/lib/testing/processes";
import { accountsIn, type TestUser } from "@/lib/testing/rows/accounts";
import { findBrowser } from "@/scripts/lib/test/browser.mjs";

/** A step that takes a second alone may take many beside the tests of other stages. */
const STEP_MS = 60_000;
/** Maximum number of characters of a page printed by a failed test. */
const MOST_PRINTED = 6000;
/** The browser's own messages about answers that a test provokes on purpose. */
const EXPECTED_CONSOLE = /Failed to load resource/;

export interface SignedIn {
  readonly page: Page;
  readonly context: BrowserContext;
}

interface SignInOptions extends BrowserContextOptions {
  /** The address to open first. */
  readonly at?: string;
}

interface StageOptions {
  readonly worker?: boolean;
  /** Applies to all processes. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts a real installation for one test file: database, front, scheduler, a worker with output, two tenants with
 * users of each role, and a browser. Every page is watched: an error in its console fails the file.
 */
export async function openStage({ worker = true, env = {} }: StageOptions = {}) {
  const database = await testDatabase();
  const make = accountsIn(database);
  const [acme, globex] = [await make.tenant("acme"), await make.tenant("globex")];
  const people = {
    admin: await make.user({ roles: { [acme.id]: "admin" } }),
    viewer: await make.user({ roles: { [acme.id]: "viewer" } }),
    both: await make.user({ roles: { [acme.id]: "member", [globex.id]: "admin" } }),
    stranger: await make.user({ roles: { [globex.id]: "admin" } }),
    superAdmin: await make.user({ superAdmin: true }),
  };
  const keys = {
    acme: (await make.key(people.admin, { tenantId: acme.id })).key,
    globex: (await make.key(people.stranger, { tenantId: globex.id })).key,
    platform: (await make.key(people.superAdmin, { kind: "super_admin", scopes: ["platform:read", "platform:write"] }))
      .key,
  };
  const home = mkdtempSync(path.join(tmpdir(), "leasehold-ui-"));
  afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }));
  const scheduler = startProcess("scheduler", { database, env });
  const opening = openBrowser();
  const web = await startProcess("web", { database, env });
  const api = apiOf(web.url);
  await defineSpeak(api, keys.platform);
  const startWorker = () =>
    startProcess("worker", {
      database,
      env: { COMMANDS_FILE: path.resolve("e2e/ui/commands/commands.json"), LEASEHOLD_HOME: home, ...env },
    });
  const [{ browser, watch }] = await Promise.all([opening, scheduler, worker && startWorker()]);

  const open = async (options: BrowserContextOptions = {}): Promise<SignedIn> => {
    const shape = { baseURL: web.url, viewport: { width: 1280, height: 860 }, ...options };
    const context = await answered(browser.newContext(shape), "a new context");
    context.setDefaultTimeout(STEP_MS);
    const close = context.close.bind(context);
    // The test is done by then, and the browser ends with the file.
    context.close = (reason) => answered(close(reason), "the end of a context").catch(() => undefined);
    const page = await answered(context.newPage(), "a new page");
    watch(page);
    waitsForItsButtons(page);
    onTestFailed(() => printPage(page));
    return { page, context };
  };
  const signIn = async (person: TestUser, { at = "/", ...options }: SignInOptions = {}): Promise<SignedIn> => {
    const opened = await open(options);
    await takeSession(opened.context, person);
    await opened.page.goto(at);
    return opened;
  };
  const enqueue = (payload: unknown, body: Record<string, unknown> = {}, key = keys.acme) =>
    api<Job>("POST", "/jobs", { key, body: { definition_key: "speak", payload, ...body } });
  const settled = (id: string, key = keys.acme) =>
    waitFor(
      async () => {
        const job = await api<Job>("GET", `/jobs/${id}`, { key });
        return job.finished_at === null ? null : job;
      },
      { withinMs: 30_000, what: `the end of job ${id}` },
    );
  return { database, make, acme, globex, people, keys, web, api, open, signIn, enqueue, settled, startWorker };
}

export type Stage = Awaited<ReturnType<typeof openStage>>;

interface ApiCall {
  readonly key: string;
  readonly body?: unknown;
}

function apiOf(url: string) {
  return async <T>(method: string, route: string, { key, body }: ApiCall): Promise<T> => {
    const headers = {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { "content-type": "application/json", "idempotency-key": randomUUID() }),
    };
    const response = await patiently(() =>
      fetch(`${url}/api/v1${route}`, { method, headers, body: body === undefined ? null : JSON.stringify(body) }),
    );
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
}

async function defineSpeak(api: ReturnType<typeof apiOf>, key: string): Promise<void> {
  await api("POST", "/admin/jobs/definitions", {
    key,
    body: {
      key: "speak",
      description: "Prints its payload",
      max_attempts: 1,
      kill_grace_seconds: 1,
      arg_schema: {
        type: "object",
        additionalProperties: false,
        required: ["lines"],
        properties: {
          lines: { type: "array", items: { type: "string" }, description: "What to print" },
          every_ms: { type: "integer", minimum: 0, maximum: 10_000 },
          then_count_to: { type: "integer", minimum: 0 },
          exit: { type: "integer", minimum: 0, maximum: 255 },
        },
      },
    },
  });
}

async function openBrowser() {
  const browser: Browser = await chromium.launch({
    executablePath: await findBrowser(),
    args: ["--disable-dev-shm-usage", "--disable-gpu"],
  });
  const complaints: string[] = [];
  afterAll(async () => {
    await browser.close();
    expect(complaints).toEqual([]);
  });
  const watch = (page: Page) => {
    page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() !== "error" || EXPECTED_CONSOLE.test(message.text())) return;
      complaints.push(`${page.url()}: ${message.text()}`);
    });
  };
  return { browser, watch };
}

/** Playwright sets no time limit on these steps, so one of them could silently use up a test's time. */
async function answered<T>(step: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The browser did not answer: ${what}`)), STEP_MS);
  });
  return Promise.race([step, late]).finally(() => clearTimeout(timer));
}

/** A script is faster than any user; clicks before the page has hydrated would be lost. */
function waitsForItsButtons(page: Page): void {
  const goto = page.goto.bind(page);
  page.goto = async (...where) => {
    const answer = await goto(...where);
    await page.waitForFunction(() =>
      [...document.querySelectorAll("button")].every((button) =>
        Object.keys(button).some((key) => key.startsWith("__reactProps")),
      ),
    );
    return answer;
  };
}

/** Prints what a user would see at the moment of a failure, because it cannot be reproduced on another machine. */
async function printPage(page: Page): Promise<void> {
  if (page.isClosed()) return;
  const seen = await answered(page.locator("body").ariaSnapshot(), "what it shows").catch(String);
  console.info(`${page.url()} showed:\n${seen.slice(0, MOST_PRINTED)}`);
}

// Most tests are not about the login, so they sign in with one request, as the form would send it.
async function takeSession({ request }: BrowserContext, { email, password }: TestUser): Promise<void> {
  const csrf = await request.get("/api/auth/csrf");
  const headers = { origin: new URL(csrf.url()).origin };
  const { csrfToken } = (await csrf.json()) as { csrfToken: string };
  const form = { csrfToken, email, password, callbackUrl: "/", json: "true" };
  const answer = await patiently(() => request.post("/api/auth/callback/credentials", { headers, form }));
  expect(answer.status(), await answer.text()).toBe(200);
}

/** Fills in the login form and waits for the page behind it. */
export async function logIn(page: Page, { email, password }: TestUser): Promise<void> {
  if (!page.url().includes("/login")) await page.goto("/login");
  await page.getByLabel("Email").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => !url.pathname.startsWith("/login"));
}

/** Returns the row of a job in the list. */
export function rowOf(page: Page, jobId: string) {
  return page.locator(`tr[data-job-id="${jobId}"]`);
}
