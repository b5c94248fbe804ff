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
interface Meeting {
  waiting: Call[];
  underWay: number;
  /** True if the next statement is about to be sent. */
  called: boolean;
  impatience: NodeJS.Timeout | undefined;
}

const meetings = new WeakMap<Database, Map<string, Meeting>>();

/**
 * Inserts one plain job and notifies the workers. A call that meets no other call is sent at once, alone. Calls of one
 * turn of the event loop, and calls that arrive while statements of their kind are in flight, share the next statement
 * and its commit. If the database refuses a shared statement, the jobs are sent again one by one, so one caller's job
 * does not fail another's.
 */
export function enqueueTogether(db: Database, tenantId: string, item: NewJobItem): Promise<EnqueuedRow> {
  const ofHandle = meetings.get(db) ?? new Map<string, Meeting>();
  meetings.set(db, ofHandle);
  const key = `${tenantId} ${likenessOf(item)}`;
  const meeting = ofHandle.get(key) ?? { waiting: [], underWay: 0, called: false, impatience: undefined };
  ofHandle.set(key, meeting);
  return new Promise((resolve, reject) => {
    meeting.waiting.push({ item, payload: JSON.stringify(item.payload), resolve, reject });
    sendSoon({ db, tenantId, meeting, close: () => ofHandle.delete(key) });
  });
}

interface Place {
  readonly db: Database;
  readonly tenantId: string;
  readonly meeting: Meeting;
  readonly close: () => void;
}

function sendSoon(place: Place): void {
  const { meeting } = place;
  if (meeting.waiting.length === 0) return;
  if (meeting.underWay < STATEMENTS) callNext(place);
  else meeting.impatience ??= setTimeout(callNext, PATIENCE_MS, place);
}

/**
 * Sends after all callbacks that are ready have run, so a caller that was just answered can join the next statement.
 */
function callNext(place: Place): void {
  const { meeting } = place;
  if (meeting.called) return;
  meeting.called = true;
  setImmediate(() => {
    meeting.called = false;
    void send(place);
  });
}

async function send(place: Place): Promise<void> {
  const { db, tenantId, meeting, close } = place;
  clearTimeout(meeting.impatience);
  meeting.impatience = undefined;
  const calls = take(meeting);
  meeting.underWay += 1;
  sendSoon(place);
  await insertCalls(db, tenantId, calls);
  meeting.underWay -= 1;
  if (meeting.underWay === 0 && meeting.waiting.length === 0) close();
  else sendSoon(place);
}

function take(meeting: Meeting): Call[] {
  let characters = 0;
  let n = 0;
  for (const call of meeting.waiting) {
    characters += call.payload.length;
    if (n === MOST_JOBS || (n > 0 && characters > MOST_CHARACTERS)) break;
    n += 1;
  }
  return meeting.waiting.splice(0, n);
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
