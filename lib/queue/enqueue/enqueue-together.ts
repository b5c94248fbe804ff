import { clearTimeout, setImmediate, setTimeout } from "node:timers";
import { type Database, DatabaseError } from "@/lib/db";
import { type EnqueuedRow, insertAlike, insertPlain, likenessOf } from "./insert-items";
import type { NewJobItem } from "./new-job-item";
import { notifyOfEnqueued } from "./notify-enqueued";

/** Statements in flight per kind of job before calls wait to share one. */
const STATEMENTS = 2;
/** The longest that a call waits for the statements of other calls, so that a hanging statement does not block it. */
const PATIENCE_MS = 250;
const MOST_JOBS = 100;
/** About how many characters of payloads one statement takes, so that no call waits long for the jobs of others. */
const MOST_CHARACTERS = 256 * 1024;

interface Call {
  readonly item: NewJobItem;
  /** The payload as JSON, because the caller may change the object meanwhile. */
  readonly payload: string;
  readonly resolve: (row: EnqueuedRow) => void;
  readonly reject: (error: unknown) => void;
}

/** Concurrent calls of one process for jobs that differ only in their payloads. */
interface CallGroup {
  waiting: Call[];
  inFlight: number;
  /** True if the next statement is about to be sent. */
  called: boolean;
  timer: NodeJS.Timeout | undefined;
}

const groups = new WeakMap<Database, Map<string, CallGroup>>();

/**
 * Inserts one plain job and notifies the workers. A call that meets no other call is sent at once, alone. Calls of one
 * turn of the event loop, and calls that arrive while statements of their kind are in flight, share the next statement
 * and its commit. If the database refuses a shared statement, the jobs are sent again one by one, so one caller's job
 * does not fail another's.
 */
export function enqueueTogether(db: Database, tenantId: string, item: NewJobItem): Promise<EnqueuedRow> {
  const ofHandle = groups.get(db) ?? new Map<string, CallGroup>();
  groups.set(db, ofHandle);
  const key = `${tenantId} ${likenessOf(item)}`;
  const group = ofHandle.get(key) ?? { waiting: [], inFlight: 0, called: false, timer: undefined };
  ofHandle.set(key, group);
  return new Promise((resolve, reject) => {
    group.waiting.push({ item, payload: JSON.stringify(item.payload), resolve, reject });
    sendSoon({ db, tenantId, group, close: () => ofHandle.delete(key) });
  });
}

interface OpenGroup {
  readonly db: Database;
  readonly tenantId: string;
  readonly group: CallGroup;
  readonly close: () => void;
}

function sendSoon(open: OpenGroup): void {
  const { group } = open;
  if (group.waiting.length === 0) return;
  if (group.inFlight < STATEMENTS) callNext(open);
  else group.timer ??= setTimeout(callNext, PATIENCE_MS, open);
}

/**
 * Sends after all callbacks that are ready have run, so a caller that was just answered can join the next statement.
 */
function callNext(open: OpenGroup): void {
  const { group } = open;
  if (group.called) return;
  group.called = true;
  setImmediate(() => {
    group.called = false;
    void send(open);
  });
}

async function send(open: OpenGroup): Promise<void> {
  const { db, tenantId, group, close } = open;
  clearTimeout(group.timer);
  group.timer = undefined;
  const calls = take(group);
  group.inFlight += 1;
  sendSoon(open);
  await insertCalls(db, tenantId, calls);
  group.inFlight -= 1;
  if (group.inFlight === 0 && group.waiting.length === 0) close();
  else sendSoon(open);
}

function take(group: CallGroup): Call[] {
  let characters = 0;
  let n = 0;
  for (const call of group.waiting) {
    characters += call.payload.length;
    if (n === MOST_JOBS || (n > 0 && characters > MOST_CHARACTERS)) break;
    n += 1;
  }
  return group.waiting.splice(0, n);
}

/** Inserts the jobs and answers each call on its own. Never rejects. */
async function insertCalls(db: Database, tenantId: string, calls: readonly Call[]): Promise<void> {
  const [first, ...others] = calls;
  if (!first) return;
  try {
    const rows =
      others.length === 0
        ? await insertPlain(db, tenantId, first)
        : await insertAlike(db, tenantId, {
            item: first.item,
            payloads: `[${calls.map((call) => call.payload).join(",")}]`,
          });
    notifyOfEnqueued(db, rows);
    for (const [index, call] of calls.entries()) answer(call, rows[index]);
  } catch (error) {
    if (others.length > 0 && isOfOne(error)) {
      await Promise.all(calls.map((call) => insertCalls(db, tenantId, [call])));
      return;
    }
    for (const call of calls) call.reject(error);
  }
}

function answer({ resolve, reject }: Call, row: EnqueuedRow | undefined): void {
  if (row) resolve(row);
  else reject(new Error("enqueue answered too few rows"));
}

/**
 * True if one job's data may have caused the error, since tenant, definition and queue are the same for all. Then the
 * jobs are retried one by one; never while the server itself is struggling.
 */
const isOfOne = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  error.code === undefined &&
  error.sqlState !== undefined &&
  (error.kind === "invalid" || error.kind === "conflict" || error.kind === "forbidden" || error.kind === "other");
