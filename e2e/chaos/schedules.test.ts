import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { waitFor } from "@/lib/testing/processes";
import { isLong, pick, seed } from "./profile";
import { randomFrom } from "./random";
import { breaches, type Faults, openScheduleArena, type ScheduleArena } from "./schedule-arena";

/** Instants of each trigger, one a second. */
const RUNS = pick({ short: 11, long: 400 });
/** The long form plays as many as fit into its time, in random order. */
const FAULTS: readonly Faults[] = ["kill", "cut off", "end sessions"];
const ALL_FAULTS: readonly Faults[] = ["kill", "end sessions", "cut off", "freeze", "cut"];
const random = randomFrom(seed);

/** Plays faults until every trigger had its last instant or no fault is left. */
async function playAll(arena: ScheduleArena, next: (played: number) => Faults | undefined): Promise<number> {
  let played = 0;
  for (let fault = next(played); fault && !(await arena.isOver()); fault = next(played)) {
    await sleep(500 + 1500 * random());
    await arena.play(fault);
    played += 1;
  }
  await waitFor(() => arena.isOver(), { withinMs: 90_000, what: "the last instants" });
  return played;
}

const anyFault = () => ALL_FAULTS[Math.floor(random() * ALL_FAULTS.length)];

test("SCHED-10 three schedulers that are killed, frozen and cut off: each instant of each trigger has one firing and one job", {
  timeout: isLong ? 60 * 60_000 : 120_000,
}, async () => {
  const arena = await openScheduleArena();
  const triggers = await arena.makeTriggers(RUNS);
  const played = await playAll(arena, isLong ? anyFault : (n) => FAULTS[n]);
  const wanted = [...triggers.values()].flat().length;
  expect(await breaches(arena, triggers)).toEqual([]);
  console.info(`seed ${seed}: ${wanted} instants, ${played} faults, ${await arena.terms()} terms, 0 twice, 0 lost`);
  // The check finds the violations it is made for.
  const { query } = arena;
  await query("delete from app.trigger_firings where ctid = (select ctid from app.trigger_firings limit 1)");
  await query(
    "update app.jobs set metadata = jsonb_set(metadata, '{instant}', '\"2026-01-01T00:00:00Z\"') where ctid = (select ctid from app.jobs limit 1)",
  );
  expect((await breaches(arena, triggers)).length).toBeGreaterThanOrEqual(2);
});

const FEW_RUNS = 20;
/** Sometimes loses the advance of a trigger, as if it were a separate transaction. The last runs are never lost. */
const LOSE_ADVANCES = `create function public.lose_advances() returns trigger language plpgsql as $$
  begin
    if random() < 0.2 and new.next_run_at > old.next_run_at and new.run_count < ${FEW_RUNS - 5} then
      new.next_run_at := old.next_run_at;
      new.following_run_at := old.following_run_at;
    end if;
    return new;
  end $$;
  create trigger lose_advances before update on app.job_triggers for each row execute function public.lose_advances()`;
/** Makes firings invisible as those of an instant, to the unique index and to the check before an insert. */
const FORGET_INSTANTS = `create function public.forget_instants() returns trigger language plpgsql as $$
  begin new.kind := 'manual'; return new; end $$;
  create trigger forget_instants before insert on app.trigger_firings for each row execute function public.forget_instants()`;

test.runIf(isLong)(
  "an instant fires once even if the trigger's progress is lost; without the unique instant the checker finds duplicates",
  { timeout: 10 * 60_000 },
  async () => {
    for (const [guarded, broken] of [
      [true, LOSE_ADVANCES],
      [false, `${LOSE_ADVANCES}; ${FORGET_INSTANTS}`],
    ] as const) {
      const arena = await openScheduleArena();
      await arena.query(broken);
      const triggers = await arena.makeTriggers(FEW_RUNS);
      await playAll(arena, (n) => FAULTS[n]);
      const found = await breaches(arena, triggers);
      console.info(`seed ${seed}: ${guarded ? "with" : "without"} the guard on instants ${found.length} breaches`);
      if (guarded) expect(found).toEqual([]);
      else expect(found.length).toBeGreaterThan(0);
    }
  },
);
