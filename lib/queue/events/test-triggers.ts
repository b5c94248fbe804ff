import type { Database, TenantTransaction } from "@/lib/db";
import { mapInTurns, Turns } from "@/lib/turns";
import { toItem } from "../enqueue/new-job-item";
import { QueueError } from "../errors";
import { inTenant } from "../read/get-job";
import type {
  DraftTrigger,
  FieldProblem,
  NewEvent,
  NewJob,
  TenantScope,
  TestRequest,
  TriggerTest,
  TriggerTests,
} from "../types";
import {
  type Asked,
  askForJob,
  compileListener,
  explainWork,
  matchEvent,
  type OccurredEvent,
} from "./event-match.policy";
import { heldKeysSql, replayEventsSql } from "./events.sql";
import { type Listener, listenersToTry } from "./listeners";
import { checkNewEvent } from "./new-event.policy";
import { type StoredEventRow, toOccurred } from "./stored-event";

const RESULTS_MAX = 500;
const LISTENERS_MAX = 1000;
/** The most pairs of event and trigger in one request. */
const PAIRS_MAX = 10_000;
/** The most characters that conditions read and templates produce in one request: about a second of work. */
const WORK_MAX_CHARACTERS = 64 * 1024 * 1024;
/** Validating and hashing one character of a rendered payload costs as much as reading this many. */
const WORK_OF_GIVEN = 8;
/** The most characters of all payloads in one response. */
const CHARACTERS_MAX = 2_000_000;
/** Placeholder id for events and triggers that are not stored. */
const NO_ID = "00000000-0000-0000-0000-000000000000";

/** A trigger to test, and whether it is stored or a draft. */
interface Candidate {
  readonly listener: Listener;
  readonly isStored: boolean;
}

interface Occurred {
  readonly event: OccurredEvent;
  /** Length of the event's data as JSON. */
  readonly characters: number;
  readonly isStored: boolean;
}

type Pair = Candidate & { readonly occurred: Occurred };

/**
 * Tests what an event, or each of the newest stored events, would do with one trigger, a draft, or all triggers that
 * listen. Returns for each pair whether it matches or which part of the condition does not hold, the payload, and
 * whether another job holds the dedupe key. Writes nothing.
 * With one trigger or a draft, a replay takes events of its name.
 * @throws QueueError not-found, invalid-value (of event and draft, by pointer)
 */
export function testTriggers(
  db: Database | TenantTransaction,
  scope: TenantScope,
  request: TestRequest,
): Promise<TriggerTests> {
  return inTenant(db, scope, async (tx) => {
    const candidates = await candidatesOf(tx, request);
    const events = await eventsOf(tx, request, candidates);
    const isSingle = request.trigger_id !== undefined || request.draft !== undefined;
    const pairs = events.flatMap((occurred) =>
      candidates
        .filter(({ listener }) => isSingle || listener.eventName === occurred.event.name)
        .map((candidate) => ({ ...candidate, occurred })),
    );
    if (pairs.length > PAIRS_MAX) throw tooMany();
    const results: TriggerTest[] = [];
    const work = { done: 0, turns: new Turns() };
    for (const pair of pairs) {
      await account(work, pair);
      const tried = await tryPair(tx, scope, pair);
      results.push(tried.result);
      work.done += tried.characters * WORK_OF_GIVEN;
    }
    return summaryOf(events.length, await withHolders(tx, results));
  });
}

/** Adds a pair's work, rejects the request if the total is too much for this process, and yields the event loop. */
async function account(
  work: { done: number; readonly turns: Turns },
  { occurred, listener: { understood } }: Pair,
): Promise<void> {
  if ("listener" in understood) work.done += explainWork(understood.listener, occurred.characters);
  if (work.done > WORK_MAX_CHARACTERS) throw tooMany();
  await work.turns.next();
}

const tooMany = (): QueueError =>
  new QueueError("invalid-value", "Too many triggers listen to these events. Choose one.", {
    problems: [{ pointer: "/trigger_id", code: "required", detail: "is required: too many triggers listen to them" }],
  });

async function candidatesOf(
  tx: TenantTransaction,
  { trigger_id: triggerId, draft }: TestRequest,
): Promise<Candidate[]> {
  if (draft) return [{ listener: draftListener(draft), isStored: false }];
  const found = await listenersToTry(tx, { triggerId: triggerId ?? null, limit: LISTENERS_MAX });
  if (triggerId !== undefined && found.length === 0) throw new QueueError("not-found", "Event trigger not found.");
  return found.map((listener) => ({ listener, isStored: true }));
}

function draftListener(draft: DraftTrigger): Listener {
  const label = draft.label ?? "draft";
  const understood = compileListener({
    id: NO_ID,
    label,
    condition: draft.condition ?? null,
    payloadTemplate: draft.payload_template ?? {},
    dedupeKeyTemplate: draft.dedupe_key_template ?? null,
    dedupeWindowSeconds: draft.dedupe_window_seconds ?? 300,
  });
  if ("problems" in understood) {
    const problems = understood.problems.map((found) => ({ ...found, pointer: `/draft${found.pointer}` }));
    throw new QueueError("invalid-value", "The trigger is not valid.", { problems });
  }
  return {
    id: NO_ID,
    label,
    eventName: draft.event_name,
    definitionKey: draft.definition_key ?? "",
    queue: null,
    priority: null,
    overlap: "allow",
    runsLeft: null,
    isExpired: false,
    isListening: true,
    understood,
  };
}

async function eventsOf(
  tx: TenantTransaction,
  { event, replay, trigger_id: triggerId, draft }: TestRequest,
  candidates: readonly Candidate[],
): Promise<Occurred[]> {
  if (event) return [occurredOf(madeUp(event), false)];
  const name = triggerId !== undefined || draft ? (candidates[0]?.listener.eventName ?? null) : null;
  const rows = await tx.run<StoredEventRow>(replayEventsSql, [tx.tenantId, name, replay ?? 0]);
  return mapInTurns(rows, (row) => occurredOf(toOccurred(row), true));
}

const occurredOf = (event: OccurredEvent, isStored: boolean): Occurred => ({
  event,
  isStored,
  characters: JSON.stringify(event.data ?? null).length,
});

function madeUp(event: NewEvent): OccurredEvent {
  checkNewEvent(event, "/event");
  return {
    id: NO_ID,
    name: event.name,
    data: JSON.parse(JSON.stringify(event.data ?? {})) as unknown,
    receivedAt: new Date(),
    producerId: event.producerId ?? null,
    correlationId: event.correlationId ?? NO_ID,
    source: "api",
    depth: 0,
  };
}

interface Tried {
  readonly result: TriggerTest;
  /** Characters of the payload. */
  readonly characters: number;
}

async function tryPair(tx: TenantTransaction, scope: TenantScope, pair: Pair): Promise<Tried> {
  const { listener, occurred } = pair;
  const unrendered = (result: TriggerTest): Tried => ({ result, characters: 0 });
  const base = {
    event_id: occurred.isStored ? occurred.event.id : null,
    event_name: occurred.event.name,
    received_at: occurred.isStored ? occurred.event.receivedAt.toISOString() : null,
    trigger_id: pair.isStored ? listener.id : null,
    trigger_label: listener.label,
    parts: [],
    verdict: null,
    payload: null,
    payload_omitted: false,
    problems: [],
    dedupe: null,
  };
  const { understood } = listener;
  if (listener.eventName !== occurred.event.name) return unrendered({ ...base, matched: false, mismatch: "name" });
  if ("problems" in understood)
    return unrendered({ ...base, matched: true, mismatch: null, verdict: "fail", problems: understood.problems });
  const { matched, parts } = matchEvent(understood.listener, occurred.event);
  const tried = { ...base, parts };
  if (!matched) return unrendered({ ...tried, matched, mismatch: "condition" });
  const mismatch = listener.isExpired ? "expired" : listener.isListening ? null : "disabled";
  const asked = askForJob(understood.listener, occurred.event);
  const problems = await problemsOf(tx, scope, { asked, listener });
  if ("reason" in asked) return unrendered({ ...tried, matched, mismatch, verdict: "fail", problems });
  const { payload, dedupeKey, dedupe } = asked.job;
  const held =
    dedupeKey === undefined
      ? null
      : { key: dedupeKey, window_seconds: dedupe?.windowSeconds ?? 0, held_by_job_id: null };
  const verdict = problems.length > 0 ? ("fail" as const) : ("start" as const);
  return {
    result: { ...tried, matched, mismatch, payload, problems, verdict, dedupe: held },
    characters: asked.characters,
  };
}

/** Returns why the job would not be accepted. For a draft without a definition, only the templates are checked. */
async function problemsOf(
  tx: TenantTransaction,
  scope: TenantScope,
  { asked, listener }: { readonly asked: Asked; readonly listener: Listener },
): Promise<readonly FieldProblem[]> {
  if ("reason" in asked) return asked.problems;
  if (listener.definitionKey === "") return [];
  const job: NewJob = { ...asked.job, definitionKey: listener.definitionKey, source: "event" };
  try {
    // The caller's own restrictions do not apply, like when the trigger fires.
    await toItem(tx, { tenantId: scope.tenantId, actor: scope.actor }, { job, link: undefined, at: "" });
    return [];
  } catch (error) {
    if (!(error instanceof QueueError)) throw error;
    const { problems, code, message } = error;
    return problems.length > 0 ? problems : [{ pointer: "", code, detail: message }];
  }
}

/** Reads the holders of all dedupe keys in one query. */
async function withHolders(tx: TenantTransaction, results: readonly TriggerTest[]): Promise<TriggerTest[]> {
  const keys = [...new Set(results.flatMap(({ dedupe }) => dedupe?.key ?? []))];
  if (keys.length === 0) return [...results];
  const rows = await tx.run<{ key: string; job_id: string }>(heldKeysSql, [tx.tenantId, keys]);
  const holders = new Map(rows.map(({ key, job_id }) => [key, job_id]));
  return results.map((result) => {
    const heldByJobId = result.dedupe ? (holders.get(result.dedupe.key) ?? null) : null;
    if (!result.dedupe || heldByJobId === null) return result;
    const verdict = result.verdict === "start" ? "deduplicate" : result.verdict;
    return { ...result, verdict, dedupe: { ...result.dedupe, held_by_job_id: heldByJobId } };
  });
}

async function summaryOf(events: number, results: readonly TriggerTest[]): Promise<TriggerTests> {
  let left = CHARACTERS_MAX;
  const shown = await mapInTurns(results.slice(0, RESULTS_MAX), (result) => {
    if (left >= 0) left -= JSON.stringify(result.payload ?? null).length;
    return left >= 0 ? result : { ...result, payload: null, payload_omitted: true };
  });
  const matched = results.filter((result) => result.matched && result.mismatch === null);
  return {
    events,
    considered: results.length,
    matched: matched.length,
    would_start: matched.filter(({ verdict }) => verdict === "start").length,
    data: shown,
  };
}
