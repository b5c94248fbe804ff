"use client";

import { useRouter } from "next/navigation";
import type { RefObject } from "react";
import { useShortcuts } from "@/components/ui/use-shortcuts";
import type { useLive } from "@/lib/client/live/use-live";
import type { JobRow } from "@/lib/contract";
import type { JobActions } from "../job-actions";

interface JobKeys {
  readonly tenant: string;
  readonly rows: readonly JobRow[];
  readonly actions: JobActions;
  readonly searchRef: RefObject<HTMLInputElement | null>;
  readonly create: () => void;
  readonly live: ReturnType<typeof useLive>;
}

/**
 * The keyboard shortcuts of the list. j and k move the focus itself, so that Enter opens a job and screen readers
 * follow.
 */
export function useJobKeys({ tenant, rows, actions, searchRef, create, live }: JobKeys): void {
  const router = useRouter();
  const onFocused = (run: (job: JobRow) => void) => () => {
    const id = focusedRow()?.dataset.jobId;
    const job = rows.find((row) => row.id === id);
    if (job) run(job);
  };
  useShortcuts({
    "/": () => searchRef.current?.focus(),
    j: () => moveFocus(1),
    k: () => moveFocus(-1),
    n: create,
    r: onFocused((job) => actions.run("retry", job)),
    c: onFocused((job) => actions.run("cancel", job)),
    l: onFocused((job) => router.push(`/t/${tenant}/jobs/${job.id}?tab=output`)),
    ".": () => live?.setPaused(live.state !== "paused"),
  });
}

function focusedRow(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("tr[data-job-id]") ?? null;
}

function moveFocus(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-job-link]")];
  const here = links.findIndex((link) => link.closest("tr") === focusedRow());
  const next = here === -1 ? (step === 1 ? 0 : links.length - 1) : Math.min(Math.max(here + step, 0), links.length - 1);
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: "nearest" });
}
