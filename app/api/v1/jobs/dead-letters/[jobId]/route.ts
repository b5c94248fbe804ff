import { notFound } from "@/lib/api/http/problem";
import { defined } from "@/lib/api/resources/filters";
import { shownDeadLetter } from "@/lib/api/resources/shown";
import { tenantRoute } from "@/lib/api/route";
import { changeDeadLetter, deadLetterDetail, deadLetterParams } from "@/lib/contract";
import { getDeadLetter, listJobEvents, triageDeadLetter } from "@/lib/queue";

export const dynamic = "force-dynamic";

export const GET = tenantRoute({
  permission: "jobs:read",
  summary: "Get a dead letter with its history",
  params: deadLetterParams,
  response: deadLetterDetail,
  handler: async ({ db, scope, params }) => {
    const letter = await getDeadLetter(db, scope, params.jobId);
    if (!letter) throw notFound();
    const history = await listJobEvents(db, scope, params.jobId);
    return { ...shownDeadLetter(letter), history: history };
  },
});

export const PATCH = tenantRoute({
  permission: "jobs:update",
  summary: "Update the status or the note of a dead letter",
  params: deadLetterParams,
  body: changeDeadLetter,
  response: deadLetterDetail,
  handler: async ({ db, scope, params, body }) => {
    const change = defined({ status: body.status, note: body.note });
    const letter = await triageDeadLetter(db, scope, { jobId: params.jobId, ...change });
    const history = await listJobEvents(db, scope, params.jobId);
    return { ...shownDeadLetter(letter), history: history };
  },
});
