import { expect, test } from "vitest";
import * as z from "zod";
import { parseBody, parseParams, parseQuery } from "@/lib/api/http/input";
import {
  claimWork,
  completeWork,
  createDefinitionBody,
  createJob,
  createJobAction,
  createJobs,
  createTriggerBody,
  createWebhook,
  eventListQuery,
  failWork,
  heartbeatBody,
  jobListQuery,
  previewTriggerBody,
  publishEventsBody,
  testTriggersBody,
  triggerListQuery,
} from "@/lib/contract";
import { cleanContext } from "@/lib/execution/output/clean-result";
import { TextCleaner } from "@/lib/execution/output/clean-text";
import { artifactOfFrame } from "@/lib/execution/output/frame/artifact-frame";
import { FrameReader } from "@/lib/execution/output/frames";
import { secretForms } from "@/lib/execution/output/secret-forms";
import { StreamCapture } from "@/lib/execution/output/stream-capture";
import { compileArgSchema } from "@/lib/queue/definitions/arg-schema.policy";
import { compileCondition } from "@/lib/queue/dependencies/condition.policy";
import { isLinked, linkJobs, outerParents, takesResults } from "@/lib/queue/dependencies/link-jobs.policy";
import { checkJobPayload, checkNewJob } from "@/lib/queue/enqueue/new-job.policy";
import { askForJob, compileListener, inWords, matchEvent, mismatchOf } from "@/lib/queue/events/event-match.policy";
import { checkNewEvent, refuseReserved } from "@/lib/queue/events/new-event.policy";
import { newSettings, settingsProblems } from "@/lib/queue/triggers/trigger-settings.policy";
import { failureOf } from "@/lib/webhooks/delivery/failure";
import { headerProblems } from "@/lib/webhooks/delivery/headers";
import { messageOf } from "@/lib/webhooks/delivery/payload";
import { signatureHeader } from "@/lib/webhooks/delivery/signature";
import { hostCheck } from "@/web/front/check-host";
import { clientFinder } from "@/web/front/client-address";
import { cut, hostileInPlaces } from "./measure/growth";
import { functionsIn, readerFiles } from "./measure/readers";

const FORMS = secretForms(["abababababababab", "supersecretvalue"]);
const validate = compileArgSchema({ properties: { a: { pattern: "^(?:a|ab)*$" } }, required: ["b"] });
const OCCURRED = { id: "1", receivedAt: new Date(0), producerId: null, source: "api" as const, depth: 0 };
const SURROUNDINGS = { timezone: "UTC", now: new Date(0) };

/** The text as a list of short texts, and as an object with as many keys. */
const pieces = (text: string): string[] => text.match(/[\s\S]{1,8}/g) ?? [];
const keyed = (text: string): Record<string, string> =>
  Object.fromEntries(pieces(text).map((piece, index) => [`x-${index}-${piece}`, piece]));
/** A body in which each field of the schema, and one more field, is the text. */
const filled = (schema: z.ZodType, text: unknown): unknown =>
  schema instanceof z.ZodObject
    ? Object.fromEntries([...Object.keys(schema.shape), text].map((key) => [key, text]))
    : text;

const listener = compileListener({
  id: "1",
  label: "a",
  condition: 'event.a == event.b && event.a.startsWith("ab") && "a" in event.list && size(event.a) > 3',
  payloadTemplate: { a: "{{event.a}} and {{event.list}}", b: { c: "{{event}}" } },
  dedupeKeyTemplate: "{{event.a}}",
  dedupeWindowSeconds: 0,
});
if (!("listener" in listener)) throw new Error("the trigger does not compile");
const occurred = (text: string) => ({
  ...OCCURRED,
  name: text,
  correlationId: text,
  data: { a: text, b: `${text}!`, list: pieces(text), [text]: keyed(text) },
});

const BODIES = {
  claimWork,
  completeWork,
  createDefinitionBody,
  createJob,
  createJobAction,
  createJobs,
  createTriggerBody,
  createWebhook,
  failWork,
  heartbeatBody,
  previewTriggerBody,
  publishEventsBody,
  testTriggersBody,
};
const QUERIES = { jobListQuery, eventListQuery, triggerListQuery };

/** Functions that read texts inside their first argument or in later arguments, by name. */
const NESTED: Readonly<Record<string, (text: string) => unknown>> = {
  parseParams: (text) => parseParams(createJob, filled(createJob, text)),
  parseQuery: (text) => {
    const search = `q=${text}&status=${text}&cursor=${text}&${text}&${"a&".repeat(text.length / 2)}`;
    return Object.values(QUERIES).map((schema) => attempt(() => parseQuery(schema as z.ZodType, search)));
  },
  parseBody: (text) =>
    Object.values(BODIES).map((schema) => [
      attempt(() => parseBody(schema as z.ZodType, filled(schema, text))),
      attempt(() => parseBody(schema as z.ZodType, filled(schema, pieces(text)))),
    ]),
  artifactOfFrame: (text) => artifactOfFrame({ name: "", path: text, content_type: text }),
  cleanContext: (text) => cleanContext({ a: text, [text]: keyed(text) }, FORMS, new Set(pieces(text))),
  failureOf: (text) => failureOf(new Error(text), "response"),
  headerProblems: (text) => [headerProblems({ "x-a": text, [text]: text }), headerProblems(keyed(text))],
  messageOf: (text) =>
    messageOf(
      { endpoint_id: "1", type: text, data: { a: text, list: pieces(text) } },
      { id: "1", queuedAt: new Date(0) },
    ),
  signatureHeader: (text) =>
    signatureHeader(["whsec_YWJjZGVmZ2hpamtsbW5vcA=="], { id: text, body: text, timestamp: 1 } as never),
  compileCondition: (text) => [
    compileCondition({ path: text, op: "eq", value: text }),
    compileCondition({ path: `result.${text}`, op: "in", value: pieces(text) }),
  ],
  linkJobs: (text) => {
    const jobs = [
      {
        definitionKey: "a",
        ref: text,
        payload: { a: text },
        dependsOn: [{ ref: text, as: text }, ...pieces(text).map((ref) => ({ ref }))],
      },
      { definitionKey: "a", ref: "b", dependsOn: [{ jobId: text }] },
    ] as never;
    return [
      outerParents(jobs),
      linkJobs(jobs, { at: (index: number) => `/jobs/${index}`, known: pieces(text) }),
      isLinked(jobs[0]),
      takesResults(jobs[0]),
    ];
  },
  compileListener: (text) =>
    compileListener({
      id: "1",
      label: text,
      condition: text,
      payloadTemplate: { a: text },
      dedupeKeyTemplate: text,
      dedupeWindowSeconds: 0,
    }),
  matchEvent: (text) => matchEvent(listener.listener, occurred(text)),
  mismatchOf: (text) => mismatchOf(listener.listener, occurred(text)),
  askForJob: (text) => askForJob(listener.listener, occurred(text)),
  inWords: (text) => inWords([{ pointer: text, code: "a", detail: text }]),
  checkNewEvent: (text) =>
    checkNewEvent({ name: text, data: { a: text, list: pieces(text) }, producerId: text, correlationId: text }, ""),
  refuseReserved: (text) => refuseReserved({ name: text }, ""),
  checkNewJob: (text) =>
    checkNewJob(
      {
        definitionKey: text,
        payload: { a: text, b: keyed(text) },
        tags: pieces(text),
        metadata: { a: text },
        correlationId: text,
        dedupeKey: text,
      },
      { at: "", validate },
    ),
  checkJobPayload: (text) =>
    checkJobPayload({ definitionKey: "a", payload: { a: text, [text]: text } }, { at: "", validate }),
  newSettings: (text) => [
    settingsProblems(
      newSettings(
        {
          label: text,
          trigger_type: "schedule",
          definition_key: text,
          cron_expr: text,
          timezone: text,
          payload_template: { a: text },
          dedupe_key_template: text,
        },
        SURROUNDINGS,
      ),
    ),
    settingsProblems(
      newSettings(
        {
          label: text,
          trigger_type: "event",
          definition_key: text,
          event_name: text,
          condition: text,
          payload_template: keyed(text),
        },
        SURROUNDINGS,
      ),
    ),
  ],
  "the schemas of the argument": (text) => [
    ...["$id", "$ref", "$dynamicRef", "$anchor", "$schema", "pattern", "format", "$comment"].map((keyword) =>
      attempt(() => compileArgSchema({ [keyword]: text })),
    ),
    attempt(() => compileArgSchema({ properties: { [text]: { minLength: 1 } }, required: pieces(text) })),
    attempt(() => compileArgSchema({ $defs: { [text]: {} }, $ref: `#/$defs/${text}` })),
    attempt(() => compileArgSchema({ enum: [text, pieces(text)] })),
  ],
  hostCheck: (text) => hostCheck({ names: ["a"], anyAddress: true })(["host", text]),
  clientFinder: (text) => [
    clientFinder({ hops: 10 })(text, text),
    clientFinder({ networks: [{ address: "10.0.0.0", prefix: 8, family: "ipv4" }] })("10.0.0.1", text),
  ],
  FrameReader: (text) => {
    const reader = new FrameReader();
    return [...cut(text).flatMap((part) => [...reader.push(part)]), ...reader.flush()];
  },
  TextCleaner: (text) => {
    const cleaner = new TextCleaner();
    return cut(text).map((part) => cleaner.push(part)) + cleaner.flush();
  },
  StreamCapture: (text) => {
    const capture = new StreamCapture(FORMS, () => {});
    for (const part of cut(text)) capture.push(part);
    capture.endOfProcess();
    return capture.errorMessage();
  },
};

function attempt(run: () => unknown): void {
  try {
    run();
  } catch {
    // A refusal also counts as read.
  }
}

/**
 * Functions that read no outside text beyond what is fed to them, or to other functions, here; each with the reason.
 */
const NO_TEXT: Readonly<Record<string, string>> = {
  "lib/api/resources/filters.ts": "passes on what a schema has checked",
  "lib/api/http/input.ts#toProblemErrors": "by parseBody and parseQuery",
  "lib/api/http/input.ts#parseListBody": "the entries of a bulk, fed in lib/api/http/long-bodies.test.ts",
  "lib/api/http/input.ts#readJson": "a body, by scanJson",
  "lib/api/http/input.ts#readCapturedJson": "a body, by parseCaptured",
  "lib/api/http/input.ts#readBytes": "bytes, which are not looked at",
  "lib/api/remote/": "what their schemas have checked, by cleanLine, cleanError and cleanAnswer",
  "lib/api/http/etag.ts#etagOf": "a number",
  "lib/auth/api-key.ts#secretMatches": "bytes of one length",
  "lib/execution/output/clean-result.ts#isNotJson": "the kind of an object",
  "lib/execution/output/clean-result.ts#reportTo": "passes on a text",
  "lib/execution/output/forms-in-texts.ts":
    "secrets and kept texts, fed in lib/execution/output/forms-in-texts.test.ts",
  "lib/execution/output/read-paced.ts": "passes on bytes",
  "lib/execution/output/frame/result-line.ts": "a line, by FrameReader and parseCaptured",
  "lib/execution/output/secret-forms.ts": "an operator's secrets, once for each attempt",
  "lib/execution/output/traces.ts": "lines, by errorMessage",
  "lib/webhooks/delivery/deliver-message.ts": "an answer, by redactText",
  "lib/webhooks/delivery/in-pieces.ts": "passes on bytes",
  "lib/webhooks/delivery/outcome.ts": "an answer's header, by retryAfter",
  "lib/webhooks/delivery/send.ts": "the network",
  "lib/webhooks/delivery/resolve.ts": "a URL, by readTarget",
  "lib/webhooks/delivery/target.ts#isRefusal": "the kind of an object",
  "lib/observability/log.ts": "settings",
  "lib/observability/lossy-output.ts": "settings",
  "lib/queue/enqueue/accepted-job.policy.ts": "passes on what was checked",
  "lib/queue/definitions/arg-schema-budget.policy.ts": "by compileArgSchema",
  "lib/queue/attempts/attempt-end.policy.ts": "passes on texts, which were cleaned",
  "lib/queue/actions/bulk-action.policy.ts": "words and results of our own",
  "lib/queue/dependencies/link-jobs.policy.ts": "by linkJobs",
  "lib/text/safe-path.ts#safePathOf": "by pathOnly",
  "lib/queue/events/event-match.policy.ts#explainWork": "numbers",
  "lib/queue/events/event-match.policy.ts#matchWork": "numbers",
  "lib/queue/actions/job-change.policy.ts": "numbers and dates",
  "lib/queue/schedules/plan-firing.policy.ts": "our own words, and templates by renderTriggerTemplate",
  "lib/queue/retry/": "numbers and the names of classes",
  "lib/queue/schedules/rules/": "an expression that was read already, by readCron",
  "lib/queue/triggers/template-parts.policy.ts#pointerTo": "keys, by scanTemplate",
  "lib/queue/triggers/trigger-condition.policy.ts#explainTriggerCondition": "by matchEvent",
  "lib/queue/triggers/trigger-condition.policy.ts#failingPart": "by mismatchOf",
  "lib/queue/triggers/trigger-settings.policy.ts": "by newSettings",
  "lib/queue/triggers/trigger-template.policy.ts#renderTrigger": "by askForJob",
  "lib/queue/leader/tz-version.policy.ts": "versions of our own",
  "lib/queue/read/wait-reason.policy.ts": "numbers",
};
/** Types of parameters that carry no text. */
const PLAIN = /^(?:number|boolean|Date|undefined|\(.*\) => .*|Random|T|readonly T\[\]|Waiter|DestinationStream)$/;

test("every exported function that reads texts is measured, or listed with the reason why not", () => {
  const isFed = ({ name, parameters: [first = ""] }: ReturnType<typeof functionsIn>[number]) =>
    name in NESTED || /^(?:string|unknown)\b/.test(first);
  const all = readerFiles().flatMap((file) =>
    functionsIn(file).map((made) => ({ ...made, at: `${file}#${made.name}` })),
  );
  const unfed = all.filter((made) => !isFed(made) && !made.parameters.every((type) => PLAIN.test(type)));
  const said = Object.keys(NO_TEXT);
  expect(unfed.map(({ at }) => at).filter((at) => !said.some((place) => at.startsWith(place)))).toEqual([]);
  expect(said.filter((place) => !unfed.some(({ at }) => at.startsWith(place)))).toEqual([]);
});

test.each(Object.entries(NESTED))("the cost of %s grows no faster than the texts in its input", (name, read) => {
  hostileInPlaces(name, read);
});
