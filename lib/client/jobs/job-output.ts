import { useCallback, useEffect, useRef, useState } from "react";
import type { LogEntry, LogPage } from "@/lib/contract";
import { api } from "../http";
import { queryString } from "../query-string";

/** More lines would make the page slow; the earlier ones are in the download. */
export const LINES_KEPT = 5000;
const PAGE_SIZE = 1000;
/** Polled soon while lines arrive, and less and less often while the job is silent. */
const PAUSE_MS = { running: 2000, silent: 15_000, failed: 5000 } as const;

export interface OutputLine {
  readonly key: string;
  readonly attemptNo: number;
  readonly stream: LogEntry["stream"];
  readonly level: LogEntry["level"];
  readonly at: string;
  readonly text: string;
}

export interface JobOutput {
  readonly lines: readonly OutputLine[];
  /** Lines that were read but are no longer kept. */
  readonly droppedLines: number;
  readonly loading: boolean;
  readonly error: unknown;
  readonly retry: () => void;
}

interface Reading {
  readonly lines: readonly OutputLine[];
  readonly droppedLines: number;
  readonly loading: boolean;
  readonly error: unknown;
}

const NOTHING: Reading = { lines: [], droppedLines: 0, loading: true, error: null };

/** Reads a job's output from its start, and continues while the job runs and `live` is true. No line is read twice. */
export function useJobOutput(
  tenant: string,
  jobId: string,
  { attempt, live }: { attempt: number | null; live: boolean },
): JobOutput {
  const [reading, setReading] = useState<Reading>(NOTHING);
  const [round, setRound] = useState(0);
  const after = useRef<string | null>(null);
  const target = `${tenant}/${jobId}/${attempt}`;
  const lastTarget = useRef(target);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new round starts the reading again
  useEffect(() => {
    if (lastTarget.current !== target) {
      lastTarget.current = target;
      after.current = null;
      setReading(NOTHING);
    }
    const stop = new AbortController();
    const read = async (): Promise<void> => {
      let pauseMs: number = PAUSE_MS.running;
      while (!stop.signal.aborted) {
        const page = await fetchPage(tenant, jobId, { attempt, after: after.current, signal: stop.signal });
        after.current = page.next_after ?? after.current;
        setReading((now) => append(now, page.data));
        if (page.has_more) continue;
        if (!page.running || !live) return;
        pauseMs = page.data.length > 0 ? PAUSE_MS.running : Math.min(pauseMs * 1.5, PAUSE_MS.silent);
        await pause(pauseMs, stop.signal);
      }
    };
    read().catch(async (error: unknown) => {
      if (stop.signal.aborted) return;
      setReading((now) => ({ ...now, loading: false, error }));
      await pause(PAUSE_MS.failed, stop.signal);
      if (!stop.signal.aborted && live) setRound((count) => count + 1);
    });
    return () => stop.abort();
  }, [target, live, round]);
  const retry = useCallback(() => setRound((count) => count + 1), []);
  return { ...reading, retry };
}

function fetchPage(
  tenant: string,
  jobId: string,
  { attempt, after, signal }: { attempt: number | null; after: string | null; signal: AbortSignal },
) {
  return api<LogPage>(`/jobs/${jobId}/logs${queryString({ attempt, after, limit: PAGE_SIZE })}`, { tenant, signal });
}

function append(now: Reading, entries: readonly LogEntry[]): Reading {
  if (entries.length === 0) return { ...now, loading: false, error: null };
  const lines = appendLines(now.lines, entries);
  const excess = Math.max(0, lines.length - LINES_KEPT);
  return { lines: lines.slice(excess), droppedLines: now.droppedLines + excess, loading: false, error: null };
}

/** Joins chunks to lines. A chunk continues the line that the previous chunk of its stream left open. */
export function appendLines(lines: readonly OutputLine[], entries: readonly LogEntry[]): OutputLine[] {
  const all = [...lines];
  for (const entry of entries) {
    const open = all.findLastIndex((line) => line.attemptNo === entry.attempt_no && line.stream === entry.stream);
    const openLine = all[open];
    const parts = entry.body.replace(/\r\n/gu, "\n").split("\n");
    const goesOn = entry.stream !== "log" && openLine?.key.endsWith("+");
    if (goesOn && openLine) {
      const [first = ""] = parts.splice(0, 1);
      const ended = parts.length > 0;
      all[open] = { ...openLine, text: openLine.text + first, key: ended ? openLine.key.slice(0, -1) : openLine.key };
    }
    parts.forEach((text, index) => {
      const isLast = index === parts.length - 1;
      if (isLast && text === "" && (parts.length > 1 || goesOn)) return;
      const isOpen = isLast && entry.stream !== "log";
      all.push(lineOf(entry, text, `${entry.attempt_no}:${entry.seq}:${index}${isOpen ? "+" : ""}`));
    });
  }
  return all;
}

function lineOf(entry: LogEntry, text: string, key: string): OutputLine {
  return { key, attemptNo: entry.attempt_no, stream: entry.stream, level: entry.level, at: entry.at, text };
}

/** Waits. In a hidden tab, waits until the tab is visible again. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      document.removeEventListener("visibilitychange", seen);
      resolve();
    };
    const seen = () => !document.hidden && done();
    const timer = setTimeout(
      () => (document.hidden ? document.addEventListener("visibilitychange", seen) : done()),
      milliseconds,
    );
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        done();
      },
      { once: true },
    );
  });
}

/** Reads the whole output, of any length, and returns it as one text. */
export async function wholeOutput(tenant: string, jobId: string, attempt: number | null): Promise<string> {
  const signal = new AbortController().signal;
  const chunks: string[] = [];
  let after: string | null = null;
  for (;;) {
    const page: LogPage = await fetchPage(tenant, jobId, { attempt, after, signal });
    for (const { body, stream } of page.data) chunks.push(stream === "log" ? `${body}\n` : body);
    if (!page.has_more) return chunks.join("");
    after = page.next_after;
  }
}
