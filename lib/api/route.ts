/*
 * The HTTP API and the guards of pages. Every route is declared once, with its permission and schemas; the wrappers
 * below enforce both, and checks, documentation and tests read the same declaration. The wrappers authenticate, check
 * permissions, parse the input, confine the handler to the tenant, and answer an Idempotency-Key once. Every error
 * becomes problem+json.
 *
 * Start here, then `routes.ts` (which route needs which permission) and `authorize.ts`. `http/` has parsing and
 * answers, `resources/` the translation between API and queue, `remote/` the routes of remote workers. Pages use
 * `page.ts`.
 */

import * as z from "zod";
import type { Principal } from "@/lib/auth/principal";
import { LIMITS, type Permission, type PlatformPermission, type TenantPermission } from "@/lib/contract";
import { isShownWhole } from "@/lib/contract/shown";
import { type Database, runInLine, type TenantTransaction, withTenant } from "@/lib/db";
import type { Actor, TenantScope } from "@/lib/queue/types";
import { platformPermissions } from "@/lib/tenancy/permissions";
import type { TenantMembership } from "@/lib/tenancy/resolve";
import { poolWithin } from "./audited";
import {
  actorOf,
  denied,
  refuseKeyInUrl,
  refuseWorkerKey,
  requirePermissions,
  requirePlatform,
  requirePrincipal,
  requireTenant,
} from "./authorize";
import { barredIn, missingFor } from "./barred";
import { ownerLine, senderLine } from "./caller-line";
import { cutInTurns } from "./http/cut-in-turns";
import { parseBody, parseListBody, parseParams, parseQuery, readJson } from "./http/input";
import { HttpProblem } from "./http/problem";
import { type RequestHead, type RequestInfo, requestInfo } from "./http/request-info";
import { answerText, jsonResponse, Reply, textInTurns } from "./http/respond";
import { guarded, type NextContext, type RouteHandler } from "./http/serve";
import { answerOnce, idempotencyKey, requestHash, type StoredAnswer, storedAnswer } from "./idempotency";
import { type RouteRule, routeRuleOf } from "./routes";
import { type ApiRuntime, getRuntime } from "./runtime";

export const NOTHING = z.strictObject({});

/** The declaration of a route. Checks, documentation and tests all read it. */
export interface RouteSpec<P, Q, B, R> {
  readonly summary: string;
  /** Refused to API keys, whatever their scopes. A platform route enforces this itself; elsewhere the handler does. */
  readonly sessionOnly?: boolean;
  readonly params?: z.ZodType<P>;
  readonly query?: z.ZodType<Q>;
  readonly body?: z.ZodType<B>;
  /** Maximum number of JSON values in the body; the default applies if absent. */
  readonly bodyNodes?: number;
  /**
   * The body field with a long list, whose entries are checked in turns. The body must have no rules across its fields.
   */
  readonly bodyList?: keyof B & string;
  readonly response: z.ZodType<R>;
  /** Removes secrets from an answer. Under an Idempotency-Key, this version is stored and replayed. */
  withoutSecrets?(answer: R): R;
  /** The answer carries a strong ETag, and a change takes If-Match. The handler implements both. */
  readonly etag?: boolean;
  /** A job that calls this route is counted in its chain depth, so that a loop through this API ends. */
  readonly chained?: boolean;
  /** Status of the usual answer. Default 200. */
  readonly status?: number;
  /** What is refused with 429, if anything; the handler refuses it. */
  readonly tooMany?: string;
}

interface Input<P, Q, B> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
}

interface Common {
  readonly principal: Principal;
  readonly actor: Actor;
  readonly info: RequestInfo;
  readonly runtime: ApiRuntime;
}

/**
 * The context of a tenant route's handler. `db` is confined to the tenant; with an Idempotency-Key, `db` is the key's
 * transaction.
 */
export interface TenantContext<P, Q, B> extends Input<P, Q, B>, Common {
  readonly db: Database | TenantTransaction;
  readonly scope: TenantScope;
  readonly membership: TenantMembership;
}

/** The context of a platform route's handler. With an Idempotency-Key, a transaction on `db` joins the key's. */
export interface PlatformContext<P, Q, B> extends Input<P, Q, B>, Common {
  readonly db: Database;
}

/** An answer, which handlers may share with others and so leave unchanged. */
type Unchanged<T> = T extends readonly (infer E)[]
  ? readonly Unchanged<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Unchanged<T[K]> }
    : T;
type Answer<R> = Promise<Unchanged<R> | Reply<Unchanged<R>>>;

interface TenantSpec<P, Q, B, R> extends RouteSpec<P, Q, B, R> {
  readonly permission: TenantPermission;
  /** Returns the permissions that this body needs, out of those listed under `sometimes` in the table of routes. */
  permissionsOf?(body: B): readonly TenantPermission[];
  /**
   * Does network work before any transaction, because the transaction of an Idempotency-Key would otherwise stay open
   * for it. Not called for a request whose answer is stored.
   */
  prepare?(context: Input<P, Q, B> & Common & { readonly scope: TenantScope }): Promise<void>;
  handler(context: TenantContext<P, Q, B>): Answer<R>;
  /** Sends the wake-ups of a handler that ran in the transaction of an Idempotency-Key and so could not send them. */
  afterCommit?(db: Database): void;
}

interface PlatformSpec<P, Q, B, R> extends RouteSpec<P, Q, B, R> {
  readonly permission: PlatformPermission;
  handler(context: PlatformContext<P, Q, B>): Answer<R>;
}

interface SignedInSpec<B, R> extends RouteSpec<unknown, unknown, B, R> {
  handler(context: Common & { readonly body: B }): Answer<R>;
}

/** Makes a route inside one tenant: authenticated, permitted, parsed, confined to the tenant, answered once per key. */
export function tenantRoute<P, Q, B, R>(spec: TenantSpec<P, Q, B, R>): RouteHandler {
  const serve = async (request: Request, context: NextContext): Promise<Response> => {
    const common = await identify(request);
    const { runtime, principal, info, actor } = common;
    const named = request.headers.get("x-tenant-id");
    const rule = ruleFor(spec.permission, request, info);
    const required = [spec.permission, ...(rule.also ?? [])];
    const membership = await runInLine(ownerLine(principal), () =>
      requireTenant(runtime, { principal, info, named }, required),
    );
    const visitor = { principal, info, membership };
    const held = new Set<Permission>(membership.permissions);
    const tenantId = membership.tenant.id;
    const scope = { tenantId, actor, ...barredIn(held) };
    const answer = async (): Promise<Response> => {
      const input = await readInput(spec, request, { info, context });
      await requirePermissions(runtime, visitor, requireListed(rule, spec.permissionsOf?.(input.body)));
      const run = async (db: Database | TenantTransaction) =>
        toAnswer(spec, await spec.handler({ ...common, ...input, db, scope, membership }), held);
      const key = request.method === "POST" ? idempotencyKey(request.headers) : null;
      const prepare = async () => spec.prepare?.({ ...common, ...input, scope });
      if (key === null) {
        await prepare();
        return send(await run(runtime.web), info);
      }
      const repeat = { key, tenantId, ...(await identityOf(request, common, input.body)) };
      const isNew = async () => !(await withTenant(runtime.web, tenantId, (tx) => storedAnswer(tx, repeat)));
      if (spec.prepare && (await isNew())) await prepare();
      const done = await withTenant(runtime.web, tenantId, (tx) => answerOnce(tx, repeat, () => run(tx)));
      if (!done.replayed) spec.afterCommit?.(runtime.web);
      return send(done.replayed ? await cutStored(spec, done.answer, held) : done.answer, info, done.replayed);
    };
    return runInLine(tenantId, answer).catch(async (error: unknown) => {
      const missing = missingFor(error);
      throw missing ? await denied(runtime, visitor, missing) : error;
    });
  };
  return guarded(serve, { ...spec, access: spec.permission });
}

/** Makes a route of the installation itself, for super admins. */
export function platformRoute<P, Q, B, R>(spec: PlatformSpec<P, Q, B, R>): RouteHandler {
  const serve = async (request: Request, context: NextContext): Promise<Response> => {
    const common = await identify(request);
    const { runtime, info } = common;
    await requirePlatform(runtime, common, spec.permission);
    if (spec.sessionOnly && common.principal.kind !== "user") throw new HttpProblem("session-required");
    const input = await runInLine(ownerLine(common.principal), () => readInput(spec, request, { info, context }));
    const held = new Set<Permission>(platformPermissions(common.principal));
    const run = async (db: Database) => toAnswer(spec, await spec.handler({ ...common, ...input, db }), held);
    const key = request.method === "POST" ? idempotencyKey(request.headers) : null;
    if (key === null) return send(await run(runtime.platform), info);
    const repeat = { key, tenantId: null, ...(await identityOf(request, common, input.body)) };
    const done = await runtime.platform.transaction((tx) =>
      answerOnce(tx, repeat, () => run(poolWithin(runtime.platform, tx))),
    );
    return send(done.replayed ? await cutStored(spec, done.answer, held) : done.answer, info, done.replayed);
  };
  return guarded(serve, { ...spec, access: spec.permission });
}

/** Makes a route for every signed-in caller, in any tenant or none. */
export function signedInRoute<B, R>(spec: SignedInSpec<B, R>): RouteHandler {
  const serve = async (request: Request, context: NextContext): Promise<Response> => {
    const common = await identify(request);
    return runInLine(ownerLine(common.principal), async () => {
      const { body } = await readInput(spec, request, { info: common.info, context });
      return send(await toAnswer(spec, await spec.handler({ ...common, body })), common.info);
    });
  };
  return guarded(serve, { ...spec, access: "signed-in" });
}

/**
 * Authenticates a request and refuses workers' keys. The first step of every route that is neither open nor for remote
 * workers.
 */
export async function identify(request: RequestHead): Promise<Common> {
  const common = await authenticate(request);
  await refuseWorkerKey(common.runtime, common);
  return common;
}

/** Authenticates a request with a session or any kind of key. */
export async function authenticate(request: RequestHead): Promise<Common> {
  const runtime = getRuntime();
  const info = requestInfo(request);
  await refuseKeyInUrl(runtime, info);
  const sender = senderLine(request.headers, { ip: info.ip, origin: runtime.config.origin });
  const principal = await runInLine(sender.name, () => requirePrincipal(runtime, request, info));
  sender.belongsTo(principal);
  return { runtime, info, principal, actor: actorOf(principal, info) };
}

async function readInput<P, Q, B, R>(
  spec: RouteSpec<P, Q, B, R>,
  request: Request,
  { info, context }: { info: RequestInfo; context: NextContext },
): Promise<Input<P, Q, B>> {
  const params = parseParams((spec.params ?? NOTHING) as z.ZodType<P>, (await context.params) ?? {});
  const query = parseQuery((spec.query ?? NOTHING) as z.ZodType<Q>, info.search);
  const sent = spec.body || request.body ? await readJson(request, LIMITS.bodyBytes, spec.bodyNodes) : {};
  const schema = (spec.body ?? NOTHING) as z.ZodType<B>;
  const body = spec.bodyList ? await parseListBody(schema, sent, spec.bodyList) : parseBody(schema, sent);
  return { params, query, body };
}

/** Returns the row of a tenant route. @throws Error if the route declares another permission than its row */
function ruleFor(permission: TenantPermission, request: Request, info: RequestInfo): RouteRule {
  const rule = routeRuleOf(request.method, info.path);
  if (rule.access !== permission)
    throw new Error(`${request.method} ${info.path} declares ${permission}; the table of routes has ${rule.access}`);
  return rule;
}

/**
 * Returns the permissions asked for.
 * @throws Error for a permission that the table does not list, so that the reference stays complete
 */
function requireListed(
  { sometimes = [] }: RouteRule,
  asked: readonly TenantPermission[] = [],
): readonly TenantPermission[] {
  for (const one of asked) if (!sometimes.includes(one)) throw new Error(`the table of routes does not list ${one}`);
  return asked;
}

async function toAnswer<P, Q, B, R>(
  spec: RouteSpec<P, Q, B, R>,
  result: Unchanged<R> | Reply<Unchanged<R>>,
  held?: ReadonlySet<Permission>,
): Promise<StoredAnswer> {
  const reply = result instanceof Reply ? (result as Reply<R>) : new Reply(result as R);
  const { status = spec.status ?? 200, headers = {} } = reply.options;
  const text = (body: R) => answerText(spec.response, body, held);
  const answer = { status, headers, body: await text(reply.body) };
  return spec.withoutSecrets ? { ...answer, kept: await text(spec.withoutSecrets(reply.body)) } : answer;
}

/** Returns a stored answer, cut to what its caller may see at present. */
async function cutStored(
  { response }: { readonly response: z.ZodType },
  answer: StoredAnswer,
  held: ReadonlySet<Permission>,
): Promise<StoredAnswer> {
  if (isShownWhole(response, held)) return answer;
  return { ...answer, body: await textInTurns(await cutInTurns(response, JSON.parse(answer.body), held)) };
}

async function identityOf(request: Request, { info, actor }: Pick<Common, "info" | "actor">, body: unknown) {
  const route = `${request.method} ${info.path.replace(/[0-9a-f-]{36}/gi, "{id}")}`;
  return { principal: `${actor.kind}:${actor.id}`, route, hash: await requestHash(request.method, info.path, body) };
}

function send(answer: StoredAnswer, info: RequestInfo, replayed = false): Response {
  const replay: Record<string, string> = replayed ? { "idempotency-replayed": "true" } : {};
  return jsonResponse(answer.body, answer.status, { ...answer.headers, ...replay, "x-request-id": info.id });
}
