import { NextRequest } from "next/server";
import NextAuth from "next-auth";
import { type Admission, admitSignIn, slowDown } from "@/lib/auth/admit-sign-in";
import { cookieNames, cookieValues } from "@/lib/auth/cookies";
import { deviceCookie, findDevice } from "@/lib/auth/device";
import { authOptions, type SignInOutcome } from "@/lib/auth/next-auth";
import { isSameOrigin } from "@/lib/auth/same-origin";
import { returnToBuckets } from "@/lib/auth/throttle";
import { accountEmail } from "@/lib/contract";
import { isSafePath, pathOnly } from "@/lib/text/safe-path";
import { TooManyWaiting } from "@/lib/turn-lines";
import { parseJson } from "./http/input";
import { HttpProblem, notFound } from "./http/problem";
import { type RequestInfo, requestInfo } from "./http/request-info";
import { guarded, type NextContext, type RouteHandler } from "./http/serve";
import { type ApiRuntime, getRuntime } from "./runtime";

const MAX_BODY_BYTES = 16 * 1024;

const ACTIONS: Readonly<Record<string, readonly string[]>> = {
  GET: ["csrf", "session", "signin"],
  POST: ["callback/credentials", "signout", "session"],
};

/**
 * Sign-in and sign-out by next-auth, restricted to the actions in use. Only our own pages may post, bodies are small
 * and hold plain strings, and redirects are paths. All other session data is read by getPrincipal, never from
 * next-auth.
 */
export const authRoute: RouteHandler = guarded(serve, { access: "open", summary: "Sign in and out (next-auth)" });

async function serve(request: Request, context: NextContext): Promise<Response> {
  const runtime = getRuntime();
  const info = requestInfo(request);
  const action = await allowedAction(request, context);
  refuseBadCallbackCookie(request.headers, runtime);
  const body = request.method === "POST" ? await readFields(request, runtime) : null;
  const isSignIn = action === "callback/credentials";
  const cookies = request.headers.get("cookie");
  const admission = isSignIn ? await admit(runtime, info, { email: body?.email ?? "", cookies }) : null;
  const outcome: SignInOutcome = { error: undefined, signedIn: null };
  const isKnown = admission?.isKnown ?? false;
  const client = { ip: info.ip, userAgent: info.userAgent, requestId: info.id, isKnown };
  const settings = {
    db: runtime.auth,
    origin: runtime.config.origin,
    secret: runtime.config.authSecret,
    log: runtime.log,
  };
  const response: Response = await NextAuth(
    rebuild(request, runtime, body),
    { params: Promise.resolve({ nextauth: action.split("/") }) },
    authOptions(settings, client, outcome),
  );
  if (outcome.error instanceof TooManyWaiting) throw tooMany(2);
  if (outcome.error !== undefined) throw outcome.error;
  const answer = await finish(response, info);
  if (admission && outcome.signedIn !== null) {
    await returnToBuckets(runtime.auth, admission.taken);
    answer.headers.append("set-cookie", deviceCookie(cookies, outcome.signedIn, runtime.config));
  }
  return answer;
}

async function allowedAction(request: Request, context: NextContext): Promise<string> {
  const { nextauth } = (await context.params) as { nextauth?: string[] };
  const action = (nextauth ?? []).join("/");
  if (!ACTIONS[request.method]?.includes(action)) throw notFound();
  return action;
}

// next-auth answers 500 to every request with a malformed callback cookie, so the cookie is removed.
function refuseBadCallbackCookie(headers: Headers, runtime: ApiRuntime): void {
  const { callback, secure } = cookieNames(runtime.config.origin);
  const values = cookieValues(headers.get("cookie"), callback);
  if (values.every((value) => isSafePath(decoded(value)))) return;
  const gone = `${callback}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax${secure ? "; Secure" : ""}`;
  throw new HttpProblem("bad-request", {
    detail: "A sign-in cookie was malformed; try again.",
    headers: { "set-cookie": gone },
  });
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return "";
  }
}

async function readFields(request: Request, runtime: ApiRuntime): Promise<Record<string, string>> {
  if (!isSameOrigin(request.headers, runtime.config.origin)) throw new HttpProblem("cross-site-request");
  const text = await request.text();
  if (text.length > MAX_BODY_BYTES) throw new HttpProblem("body-too-large");
  const isForm = (request.headers.get("content-type") ?? "").startsWith("application/x-www-form-urlencoded");
  const sent = isForm ? Object.fromEntries(new URLSearchParams(text)) : parseJson(text || "{}");
  if (typeof sent !== "object" || sent === null || Array.isArray(sent)) throw new HttpProblem("bad-request");
  const fields = Object.entries(sent);
  if (fields.some(([, value]) => typeof value !== "string"))
    throw new HttpProblem("bad-request", { detail: "Every field must be a string." });
  return Object.fromEntries(fields);
}

async function admit(
  runtime: ApiRuntime,
  info: RequestInfo,
  sent: { email: string; cookies: string | null },
): Promise<Admission> {
  const email = accountEmail.parse(sent.email);
  const device = findDevice(sent.cookies, email, runtime.config);
  const admission = await admitSignIn(runtime.auth, { email, ip: info.ip, device });
  if (admission.slow) await slowDown();
  if (admission.waitSeconds === 0) return admission;
  throw tooMany(admission.waitSeconds);
}

function tooMany(seconds: number): HttpProblem {
  return new HttpProblem("too-many-requests", {
    detail: "Too many failed sign-ins. Wait a little and try again.",
    headers: { "retry-after": String(Math.ceil(seconds)) },
  });
}

function rebuild(request: Request, runtime: ApiRuntime, body: Record<string, string> | null): NextRequest {
  const { origin } = runtime.config;
  const sent = new URL(request.url);
  const url = new URL(sent.pathname, origin);
  url.searchParams.set("callbackUrl", pathOnly(sent.searchParams.get("callbackUrl") ?? "/", origin));
  if (!body) return new NextRequest(url, { method: "GET" });
  const callbackUrl = pathOnly(body.callbackUrl ?? "/", origin);
  return new NextRequest(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...body, callbackUrl, json: "true" }),
  });
}

async function finish(response: Response, info: RequestInfo): Promise<Response> {
  const headers = new Headers(response.headers);
  headers.set("cache-control", "private, no-store");
  headers.set("x-request-id", info.id);
  const text = await response.text();
  if (text.includes("/signin?csrf=true")) {
    throw new HttpProblem("cross-site-request", {
      detail: "The sign-in token is missing or expired. Reload the page.",
    });
  }
  return new Response(text, { status: response.status, headers });
}
