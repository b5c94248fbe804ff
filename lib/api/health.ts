import { withDeadline } from "@/lib/async/deadline";
import { misfit, PAUSED, TZ_VERSION } from "@/lib/process";
import { HttpProblem } from "./http/problem";
import { jsonResponse } from "./http/respond";
import { guarded, type RouteHandler } from "./http/serve";
import { isPaused } from "./paused";
import { getRuntime, shutdownSignal } from "./runtime";

const ANSWER_WITHIN_MS = 3000;
const NO_ANSWER = "The database does not answer.";

/** Liveness: answers as long as the process does. */
export const livez: RouteHandler = guarded(async () => jsonResponse('{"status":"live"}', 200, {}), {
  access: "open",
  summary: "Whether the process answers",
});

/** Readiness: the database answers, this process fits it, and no shutdown is in progress. */
export const readyz: RouteHandler = guarded(
  async () => {
    if (shutdownSignal().aborted) throw notReady("The server is shutting down.");
    const asked = problemOf().catch(() => NO_ANSWER);
    const problem = await withDeadline(asked, ANSWER_WITHIN_MS, () => NO_ANSWER);
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

/** Returns why requests would fail although the database answers, or null. */
async function problemOf(): Promise<string | null> {
  const { web, auth, platform, worker, dataKeyCheck, direct } = getRuntime();
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
