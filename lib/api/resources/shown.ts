import type { LogPage } from "@/lib/contract";
import { maskGuesses, maskShown } from "@/lib/execution/output/guesses";
import type { AttemptRead, DeadLetter } from "@/lib/queue";
import type { Attempt, JobRow, LogEntry, OutputPage } from "@/lib/queue/types";
import { mapInTurns, Turns } from "@/lib/turns";

/** Returns a job with its error masked. The errors of a list take long to mask: {@link shownJobs}. */
export const shownJob = <J extends JobRow>(job: J): J => ({ ...job, last_error: maskShown(job.last_error) });

/** Masks a list of jobs in turns, because 200 errors of 16 KiB take long to mask. */
export const shownJobs = (jobs: readonly JobRow[]): Promise<JobRow[]> => mapInTurns(jobs, (job) => shownJob(job));

export const shownDeadLetter = (letter: DeadLetter): DeadLetter => ({ ...letter, job: shownJob(letter.job) });

/** Masks a list of dead letters in turns, because their errors are masked. */
export const shownDeadLetters = (letters: readonly DeadLetter[]): Promise<DeadLetter[]> =>
  mapInTurns(letters, shownDeadLetter);

/** Masks attempts in turns, because each may have half a megabyte of text to mask. */
export async function shownAttempts(attempts: readonly AttemptRead[]): Promise<Attempt[]> {
  const turns = new Turns();
  const masked = async (text: string | null): Promise<string | null> => {
    await turns.next();
    return maskShown(text);
  };
  const all: Attempt[] = [];
  for (const { has_older: _hasOlder, ...attempt } of attempts) {
    const error_text = await masked(attempt.error_text);
    const stdout_tail = await masked(attempt.stdout_tail);
    all.push({ ...attempt, error_text, stdout_tail, stderr_tail: await masked(attempt.stderr_tail) });
  }
  await turns.next();
  return all;
}

const shownEntry = (entry: LogEntry): LogEntry => ({ ...entry, body: maskGuesses(entry.body) });

/**
 * Masks a page of output in turns, because masking takes long. `after` is the reader's current position; an empty page
 * returns it as `next_after`.
 */
export async function shownOutput(page: OutputPage, after: string | undefined): Promise<LogPage> {
  const last = page.lines.at(-1);
  return {
    data: await mapInTurns(page.lines, shownEntry),
    next_after: last ? `${last.attempt_no}:${last.seq}` : (after ?? null),
    has_more: page.hasMore,
    running: page.running || page.hasMore,
  };
}
