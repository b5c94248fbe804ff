import { type Runner, runInCommonLine, statement } from "@/lib/db";

/** Channels of the wake-ups. A wake-up is a hint and may be lost; polling finds everything. */
export const CHANNELS = {
  work: "leasehold_work",
  cancel: "leasehold_cancel",
  pauses: "leasehold_pauses",
  changes: "leasehold_changes",
  schedules: "leasehold_schedules",
} as const;
type Channel = (typeof CHANNELS)[keyof typeof CHANNELS];

/** Postgres refuses payloads of 8,000 bytes; this many numbers always fit. */
const MAX_LANES = 100;

const notifySql = statement(
  "wake",
  "select pg_notify(channel, payload) from unnest($1::text[], $2::text[]) x (channel, payload)",
);

interface Pending {
  readonly lanes: Set<number>;
  all: boolean;
}

interface Waiting {
  channels: Map<Channel, Pending>;
  sending: boolean;
  sentAt: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The shortest interval between notifications of mere changes, which pages do not need more often. Work is
 * notified at once.
 */
const CHANGES_APART_MS = 100;

const waiting = new WeakMap<Runner, Waiting>();

/**
 * Sends a wake-up after a commit. If none is being sent on this handle, it is sent at once; otherwise it is merged into
 * the next one, so a burst sends only few. Mere changes are sent at most ten times a second.
 * Never call it inside the transaction that it is about, because NOTIFY serialises commits. Failures are ignored,
 * because receivers also poll.
 */
function wake(db: Runner, hints: Readonly<Partial<Record<Channel, readonly number[] | "*">>>): void {
  const state: Waiting = waiting.get(db) ?? {
    channels: new Map(),
    sending: false,
    sentAt: -Infinity,
    timer: undefined,
  };
  waiting.set(db, state);
  for (const [channel, laneNos] of Object.entries(hints) as [Channel, readonly number[] | "*"][]) {
    if (laneNos !== "*" && laneNos.length === 0) continue;
    const pending = state.channels.get(channel) ?? { lanes: new Set(), all: false };
    state.channels.set(channel, pending);
    if (laneNos === "*") pending.all = true;
    else for (const laneNo of laneNos) pending.lanes.add(laneNo);
  }
  sendSoon(db, state);
}

function sendSoon(db: Runner, state: Waiting): void {
  if (state.sending || state.channels.size === 0) return;
  const onlyChanges = state.channels.size === 1 && state.channels.has(CHANNELS.changes);
  const early = onlyChanges ? state.sentAt + CHANGES_APART_MS - performance.now() : 0;
  if (early <= 0) return void send(db, state);
  state.timer ??= setTimeout(() => {
    state.timer = undefined;
    sendSoon(db, state);
  }, early).unref();
}

async function send(db: Runner, state: Waiting): Promise<void> {
  state.sending = true;
  state.sentAt = performance.now();
  const hints = [...state.channels];
  state.channels = new Map();
  const payloads = hints.map(([, { all, lanes }]) => (all || lanes.size > MAX_LANES ? "*" : [...lanes].join(",")));
  const values = [hints.map(([channel]) => channel), payloads];
  await runInCommonLine(() => db.run(notifySql, values)).catch(() => undefined);
  state.sending = false;
  sendSoon(db, state);
}

/** Notifies workers that there is ready work in these lanes. */
export const notifyWork = (db: Runner, laneNos: readonly number[] | "*"): void =>
  wake(db, { [CHANNELS.work]: laneNos });

/** Notifies web processes that jobs of these lanes changed visibly. */
export const notifyChanges = (db: Runner, laneNos: readonly number[] | "*"): void =>
  wake(db, { [CHANNELS.changes]: laneNos });

/** Sends `notifyWork` and `notifyChanges` in one message to the database. */
export const notifyEnqueued = (
  db: Runner,
  { work, changes }: { readonly work: readonly number[]; readonly changes: readonly number[] },
): void => wake(db, { [CHANNELS.work]: work, [CHANNELS.changes]: changes });

/** Notifies workers that a running job is to be canceled; every worker checks its own. */
export const notifyCancel = (db: Runner): void => wake(db, { [CHANNELS.cancel]: "*" });

/**
 * Notifies workers that a pause was set: they release the jobs that they claimed ahead, and do not claim
 * paused jobs again.
 */
export const notifyPaused = (db: Runner): void => wake(db, { [CHANNELS.pauses]: "*" });

/**
 * Notifies the leading scheduler that a trigger was created, changed or deleted, so that it reads the next
 * due time again.
 */
export const notifySchedules = (db: Runner): void => wake(db, { [CHANNELS.schedules]: "*" });
