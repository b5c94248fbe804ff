import { readdirSync } from "node:fs";
import { join } from "node:path";
import { writeAudit } from "@/lib/auth/audit";
import { CountedAudit } from "@/lib/auth/counted-audit";
import { openDatabase } from "@/lib/db";
import { DirectConnection } from "@/lib/process";
import type { TestDatabase } from "@/lib/testing/database";
import { whenDone } from "@/lib/testing/when-done";
import type { WebhookPolicy } from "@/lib/webhooks/delivery";
import { makeSealer } from "@/lib/webhooks/seal";
import type { RouteHandler } from "./http/serve";
import type { RouteMethod } from "./routes";
import type { ApiRuntime } from "./runtime";

const APP = join(import.meta.dirname, "../../app");
const ORIGIN = "http://127.0.0.1:3000";

export interface RouteAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape is what they test
  readonly body: any;
}

interface RouteCall {
  readonly key: string;
  /** Values of the path's placeholders, by name; others are ignored. */
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Serves the API's routes on a test database, in this process. `path` is as in the table of routes. */
export function routesOn(database: TestDatabase, webhooks: WebhookPolicy = { allowHttp: false, loopback: [] }) {
  const slots = globalThis as unknown as Record<symbol, unknown>;
  const runtime = openRuntime(database, webhooks);
  slots[Symbol.for("leasehold.runtime")] = runtime;
  whenDone(async () => {
    slots[Symbol.for("leasehold.runtime")] = undefined;
    await runtime.close();
  });
  return async (method: RouteMethod, path: string, call: RouteCall): Promise<RouteAnswer> => {
    const handler = await handlerOf(method, path);
    const names = [...path.matchAll(/\[(\w+)\]/g)].map(([, name = ""]) => name);
    const params = Object.fromEntries(names.map((name) => [name, call.params?.[name] ?? name]));
    const url = ORIGIN + path.replace(/\[(\w+)\]/g, (_, name: string) => params[name] ?? "");
    const request = new Request(url, {
      method,
      headers: {
        authorization: `Bearer ${call.key}`,
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        ...call.headers,
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    const response = await handler(request, { params: Promise.resolve(params) });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get("content-type") ?? "");
    return { status: response.status, text, headers: response.headers, body: isJson ? JSON.parse(text) : undefined };
  };
}

const files = new Set(readdirSync(APP, { recursive: true, encoding: "utf8" }));

async function handlerOf(method: RouteMethod, path: string): Promise<RouteHandler> {
  const file = `${path.slice(1)}/route.ts`;
  if (!files.has(file)) throw new Error(`no file for ${path}`);
  const module: Partial<Record<RouteMethod, RouteHandler>> = await import(join(APP, file));
  const handler = module[method];
  if (!handler) throw new Error(`no handler for ${method} ${path}`);
  return handler;
}

function openRuntime(database: TestDatabase, webhooks: WebhookPolicy): ApiRuntime {
  const open = (role: "web" | "auth" | "platform" | "worker") =>
    openDatabase({ url: database.urlFor(role), role, max: 4, prepare: true, applicationName: "leasehold-test" });
  const pools = { web: open("web"), auth: open("auth"), platform: open("platform"), worker: open("worker") };
  const unexpected: unknown[] = [];
  const denials = new CountedAudit(
    (entry) => writeAudit(pools.auth, entry),
    (error) => void unexpected.push({ error: String(error) }),
  );
  return {
    config: {
      origin: ORIGIN,
      authSecret: "test",
      deviceSecret: "test",
      cursorSecret: "test",
      providerRoots: [],
      logMaxBytes: 1_000_000,
      artifactQuota: { jobBytes: 1_000_000, tenantBytes: 10_000_000 },
      maxTimeoutSeconds: 3600,
      retry: {},
      eventMaxDepth: 8,
      listenUrl: database.adminUrl,
      webhooks,
    },
    denials,
    log: { warn: () => undefined, error: (fields) => void unexpected.push(fields) },
    ...pools,
    sealer: makeSealer("test"),
    dataKeyCheck: Buffer.alloc(32),
    direct: new DirectConnection(database.adminUrl),
    close: async () => {
      await denials.flush();
      await Promise.all(Object.values(pools).map((pool) => pool.close()));
      if (unexpected.length > 0) throw new Error(`requests failed: ${JSON.stringify(unexpected)}`);
    },
  };
}
