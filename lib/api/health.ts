import { runInCommonLine } from "@/lib/db";
import { misfit, PAUSED, sharedCheck, TZ_VERSION } from "@/lib/process";
import { HttpProblem } from "./http/problem";
import { jsonResponse } from "./http/respond";
import { guarded, type RouteHandler } from "./http/serve";
import { isPaused } from "./paused";
import { type ApiRuntime, getRuntime, shutdownSignal } from "./runtime";

const NO_ANSWER = "The database does not answer.";

/** Liveness: answers as long as the process does. */
export const livez: RouteHandler = guarded(async () => jsonResponse('{"status":"live"}', 200, {}), {
  access: "open",
  summary: "Whether the process answers",
});

/**
 * Readiness: the database answers, this process fits it, and no shutdown is in progress. Requests need no sign-in, so
 * all of them share one look at the database.
 */
export const readyz: RouteHandler = guarded(
  async () => {
    if (shutdownSignal().aborted) throw notReady("The server is shutting down.");
    const problem = await problemOf(getRuntime());
    if (problem) throw notReady(problem);
    const answer = {
      status: "ready",
      tz_version: TZ_VERSION,
      ...((await isPaused()) ? { notice: PAUSED.summary } : {}),
    };
    return jsonResponse(JSON.stringify(answer), 200, {});
  },
  { access: "open", summary: "Whether requests are served" },
);

const checks = new WeakMap<ApiRuntime, () => Promise<string | null>>();

/** Returns why requests would fail although the database answers, or null; cached for a second. */
function problemOf(runtime: ApiRuntime): Promise<string | null> {
  const check = checks.get(runtime) ?? sharedCheck(() => runInCommonLine(() => look(runtime)), NO_ANSWER);
  checks.set(runtime, check);
  return check();
}

async function look({ web, auth, platform, worker, dataKeyCheck, direct }: ApiRuntime): Promise<string | null> {
  const problem = await misfit({
    pools: [web, auth, platform, worker],
    direct,
    dataKey: { check: dataKeyCheck, worker },
  });
  return problem?.summary ?? null;
}

function notReady(detail: string): HttpProblem {
  return new HttpProblem("unavailable", { detail, headers: { "retry-after": "2" } });
}
