import { type Runner, statement } from "@/lib/db";

/** Channels of the wake-ups. A wake-up is a hint and may be lost; polling is the truth. */
export const CHANNELS = { work: "leasehold_work", cancel: "leasehold_cancel", changes: "leasehold_changes" } as const;
type Channel = (typeof CHANNELS)[keyof typeof CHANNELS];

/** Postgres refuses payloads of 8,000 bytes; this many numbers always fit. */
const MAX_LANES = 100;

const notifySql = statement("wake", "select pg_notify($1, $2)");

interface Waiting {
  lanes: Set<number>;
  all: boolean;
  sending: boolean;
}

const waiting = new WeakMap<Runner, Map<Channel, Waiting>>();

/**
 * Sends a wake-up after a commit: at once when none is under way on this handle, and joined into the next one while one
 * is, so that a burst costs few of them. Never inside the transaction that it tells of: NOTIFY serialises commits.
 * Failures are dropped, since whoever misses a hint polls.
 */
function wake(db: Runner, channel: Channel, laneNos: readonly number[] | "*"): void {
  if (laneNos !== "*" && laneNos.length === 0) return;
  const state = stateOf(db, channel);
  if (laneNos === "*") state.all = true;
  else for (const laneNo of laneNos) state.lanes.add(laneNo);
  if (!state.sending) void send(db, channel, state);
}

function stateOf(db: Runner, channel: Channel): Waiting {
  const channels = waiting.get(db) ?? new Map<Channel, Waiting>();
  waiting.set(db, channels);
  const state = channels.get(channel) ?? { lanes: new Set(), all: false, sending: false };
  channels.set(channel, state);
  return state;
}

async function send(db: Runner, channel: Channel, state: Waiting): Promise<void> {
  state.sending = true;
  while (state.all || state.lanes.size > 0) {
    const payload = state.all || state.lanes.size > MAX_LANES ? "*" : [...state.lanes].join(",");
    state.all = false;
    state.lanes = new Set();
    await db.run(notifySql, [channel, payload]).catch(() => undefined);
  }
  state.sending = false;
}

/** There is ready work in these lanes. Workers listen. */
export const notifyWork = (db: Runner, laneNos: readonly number[] | "*"): void => wake(db, CHANNELS.work, laneNos);

/** Something visible changed about jobs of these lanes. Web processes listen. */
export const notifyChanges = (db: Runner, laneNos: readonly number[] | "*"): void =>
  wake(db, CHANNELS.changes, laneNos);

/** Some running job is to be canceled; every worker looks after its own. */
export const notifyCancel = (db: Runner): void => wake(db, CHANNELS.cancel, "*");
