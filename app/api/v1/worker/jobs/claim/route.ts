import { CLAIM_WITHIN_MS, claim } from "@/lib/api/remote/claim";
import { workerRoute } from "@/lib/api/remote/route";
import { claimedWork, claimWork } from "@/lib/contract";

export const dynamic = "force-dynamic";

export const POST = workerRoute({
  summary: "Claim jobs for a remote worker, with long polling",
  body: claimWork,
  response: claimedWork,
  answerWithinMs: CLAIM_WITHIN_MS,
  handler: claim,
});
