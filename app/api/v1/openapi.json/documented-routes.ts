import type { RouteHandler } from "@/lib/api/http/serve";
import type { DocumentedRoute } from "@/lib/api/openapi";
import * as livez from "../../../livez/route";
import * as readyz from "../../../readyz/route";
import * as adminDefinition from "../admin/jobs/definitions/[definitionId]/route";
import * as adminDefinitions from "../admin/jobs/definitions/route";
import * as adminLimit from "../admin/limits/[limitId]/route";
import * as adminLimits from "../admin/limits/route";
import * as adminPause from "../admin/pause/[pauseId]/route";
import * as adminPauses from "../admin/pause/route";
import * as providers from "../admin/providers/route";
import * as adminQueue from "../admin/queues/[queueId]/route";
import * as adminQueues from "../admin/queues/route";
import * as adminTenant from "../admin/tenants/[tenantId]/route";
import * as adminTenants from "../admin/tenants/route";
import * as workerKey from "../admin/worker-keys/[keyId]/route";
import * as workerKeys from "../admin/worker-keys/route";
import * as workers from "../admin/workers/route";
import * as assets from "../assets/route";
import * as eventReplay from "../events/[eventId]/replay/route";
import * as event from "../events/[eventId]/route";
import * as events from "../events/route";
import * as artifact from "../jobs/[jobId]/artifacts/[artifactId]/route";
import * as artifacts from "../jobs/[jobId]/artifacts/route";
import * as attempts from "../jobs/[jobId]/attempts/route";
import * as cancel from "../jobs/[jobId]/cancel/route";
import * as dependencies from "../jobs/[jobId]/dependencies/route";
import * as logs from "../jobs/[jobId]/logs/route";
import * as pause from "../jobs/[jobId]/pause/route";
import * as resume from "../jobs/[jobId]/resume/route";
import * as retry from "../jobs/[jobId]/retry/route";
import * as job from "../jobs/[jobId]/route";
import * as steps from "../jobs/[jobId]/steps/route";
import * as actionAbort from "../jobs/actions/[actionId]/abort/route";
import * as actionJobs from "../jobs/actions/[actionId]/jobs/route";
import * as action from "../jobs/actions/[actionId]/route";
import * as actions from "../jobs/actions/route";
import * as bulk from "../jobs/bulk/route";
import * as deadLetter from "../jobs/dead-letters/[jobId]/route";
import * as redrive from "../jobs/dead-letters/redrive/route";
import * as deadLetters from "../jobs/dead-letters/route";
import * as definitions from "../jobs/definitions/route";
import * as queues from "../jobs/queues/route";
import * as jobs from "../jobs/route";
import * as stream from "../jobs/stream/route";
import * as summary from "../jobs/summary/route";
import * as triggerFirings from "../jobs/triggers/[triggerId]/firings/route";
import * as trigger from "../jobs/triggers/[triggerId]/route";
import * as triggerRun from "../jobs/triggers/[triggerId]/run/route";
import * as triggerPreview from "../jobs/triggers/preview/route";
import * as triggers from "../jobs/triggers/route";
import * as triggerTest from "../jobs/triggers/test/route";
import * as lists from "../lists/route";
import * as mePassword from "../me/password/route";
import * as me from "../me/route";
import * as tenantProviders from "../providers/route";
import * as webhookResend from "../webhooks/[endpointId]/deliveries/[deliveryId]/resend/route";
import * as webhookDeliveries from "../webhooks/[endpointId]/deliveries/route";
import * as webhookRotate from "../webhooks/[endpointId]/rotate-secret/route";
import * as webhook from "../webhooks/[endpointId]/route";
import * as webhookTest from "../webhooks/[endpointId]/test/route";
import * as webhooks from "../webhooks/route";
import * as remoteArtifacts from "../worker/jobs/[jobId]/artifacts/route";
import * as remoteComplete from "../worker/jobs/[jobId]/complete/route";
import * as remoteFail from "../worker/jobs/[jobId]/fail/route";
import * as remoteHeartbeat from "../worker/jobs/[jobId]/heartbeat/route";
import * as remoteClaim from "../worker/jobs/claim/route";
import * as remoteState from "../worker/state/route";

const MODULES: Readonly<Record<string, object>> = {
  "/livez": livez,
  "/readyz": readyz,
  "/api/v1/me": me,
  "/api/v1/me/password": mePassword,
  "/api/v1/jobs": jobs,
  "/api/v1/jobs/bulk": bulk,
  "/api/v1/jobs/triggers": triggers,
  "/api/v1/jobs/triggers/preview": triggerPreview,
  "/api/v1/jobs/triggers/[triggerId]": trigger,
  "/api/v1/jobs/triggers/[triggerId]/firings": triggerFirings,
  "/api/v1/jobs/triggers/[triggerId]/run": triggerRun,
  "/api/v1/jobs/summary": summary,
  "/api/v1/jobs/stream": stream,
  "/api/v1/jobs/definitions": definitions,
  "/api/v1/jobs/queues": queues,
  "/api/v1/jobs/actions": actions,
  "/api/v1/jobs/actions/[actionId]": action,
  "/api/v1/jobs/actions/[actionId]/jobs": actionJobs,
  "/api/v1/jobs/actions/[actionId]/abort": actionAbort,
  "/api/v1/jobs/dead-letters": deadLetters,
  "/api/v1/jobs/dead-letters/[jobId]": deadLetter,
  "/api/v1/jobs/dead-letters/redrive": redrive,
  "/api/v1/jobs/[jobId]": job,
  "/api/v1/jobs/[jobId]/cancel": cancel,
  "/api/v1/jobs/[jobId]/pause": pause,
  "/api/v1/jobs/[jobId]/resume": resume,
  "/api/v1/jobs/[jobId]/retry": retry,
  "/api/v1/jobs/[jobId]/dependencies": dependencies,
  "/api/v1/jobs/[jobId]/attempts": attempts,
  "/api/v1/jobs/[jobId]/logs": logs,
  "/api/v1/jobs/[jobId]/steps": steps,
  "/api/v1/jobs/[jobId]/artifacts": artifacts,
  "/api/v1/jobs/[jobId]/artifacts/[artifactId]": artifact,
  "/api/v1/webhooks": webhooks,
  "/api/v1/webhooks/[endpointId]": webhook,
  "/api/v1/webhooks/[endpointId]/rotate-secret": webhookRotate,
  "/api/v1/webhooks/[endpointId]/test": webhookTest,
  "/api/v1/webhooks/[endpointId]/deliveries": webhookDeliveries,
  "/api/v1/webhooks/[endpointId]/deliveries/[deliveryId]/resend": webhookResend,
  "/api/v1/jobs/triggers/test": triggerTest,
  "/api/v1/events": events,
  "/api/v1/events/[eventId]": event,
  "/api/v1/events/[eventId]/replay": eventReplay,
  "/api/v1/assets": assets,
  "/api/v1/lists": lists,
  "/api/v1/providers": tenantProviders,
  "/api/v1/worker/jobs/claim": remoteClaim,
  "/api/v1/worker/jobs/[jobId]/heartbeat": remoteHeartbeat,
  "/api/v1/worker/jobs/[jobId]/artifacts": remoteArtifacts,
  "/api/v1/worker/jobs/[jobId]/complete": remoteComplete,
  "/api/v1/worker/jobs/[jobId]/fail": remoteFail,
  "/api/v1/worker/state": remoteState,
  "/api/v1/admin/worker-keys": workerKeys,
  "/api/v1/admin/worker-keys/[keyId]": workerKey,
  "/api/v1/admin/workers": workers,
  "/api/v1/admin/providers": providers,
  "/api/v1/admin/queues": adminQueues,
  "/api/v1/admin/queues/[queueId]": adminQueue,
  "/api/v1/admin/tenants": adminTenants,
  "/api/v1/admin/tenants/[tenantId]": adminTenant,
  "/api/v1/admin/limits": adminLimits,
  "/api/v1/admin/limits/[limitId]": adminLimit,
  "/api/v1/admin/pause": adminPauses,
  "/api/v1/admin/pause/[pauseId]": adminPause,
  "/api/v1/admin/jobs/definitions": adminDefinitions,
  "/api/v1/admin/jobs/definitions/[definitionId]": adminDefinition,
};

/** Every route in the reference, with its declaration; a test compares the list with the files. */
export const DOCUMENTED_ROUTES: readonly DocumentedRoute[] = Object.entries(MODULES).flatMap(([path, module]) =>
  Object.entries(module)
    .filter((entry): entry is [string, RouteHandler] => isRoute(entry[1]))
    .map(([method, handler]) => ({ path, method, declaration: handler.declaration })),
);

function isRoute(member: unknown): member is RouteHandler {
  return typeof member === "function" && "declaration" in member;
}
