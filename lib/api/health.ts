import { statement } from "@/lib/db";
import { HttpProblem } from "./problem";
import { jsonResponse } from "./respond";
import { getRuntime, shutdownSignal } from "./runtime";
import { guarded, type RouteHandler } from "./serve";

const ANSWER_WITHIN_MS = 3000;
const ping = statement("api_ping", "select 1 as ok");

/** Says that the process answers at all. */
export const livez: RouteHandler = guarded(async () => jsonResponse('{"status":"live"}', 200, {}), {
  access: "open",
  summary: "Whether the process answers",
});

/** Says whether requests will be served: the database answers and no shutdown is under way. */
export const readyz: RouteHandler = guarded(
  async () => {
    if (shutdownSignal().aborted) throw notReady("The server is shutting down.");
    const answered = await Promise.race([
      getRuntime()
        .web.run(ping)
        .then(
          () => true,
          () => false,
        ),
      new Promise<false>((resolve) => setTimeout(resolve, ANSWER_WITHIN_MS, false).unref()),
    ]);
    if (!answered) throw notReady("The database does not answer.");
    return jsonResponse('{"status":"ready"}', 200, {});
  },
  { access: "open", summary: "Whether requests are served" },
);

function notReady(detail: string): HttpProblem {
  return new HttpProblem("unavailable", { detail, headers: { "retry-after": "2" } });
}
