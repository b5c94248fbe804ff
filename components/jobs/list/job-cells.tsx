"use client";

import { Ban, Ellipsis, RotateCcw } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Link } from "@/components/ui/link";
import { Menu, MenuItem } from "@/components/ui/menu";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import type { JobRow } from "@/lib/contract";
import { isCancelable } from "@/lib/queue/states";
import { messageBeforeTrace } from "../error-text";
import type { JobActions } from "../job-actions";
import { StatusBadge } from "../status";

/** The status of a job, and the progress of a running one. */
export function JobState({ job }: { readonly job: JobRow }) {
  return (
    <>
      <StatusBadge status={job.status} canceling={job.cancel_requested_at !== null} />
      {job.status === "running" && job.progress ? (
        <progress
          aria-label={`Progress of ${job.definition_key}`}
          value={job.progress.percent}
          max={100}
          className="meter absolute bottom-1.5 left-3 w-24"
        />
      ) : null}
    </>
  );
}

interface JobNameProps {
  readonly job: JobRow;
  readonly href: string;
  /** True for a row that no longer matches the filters. */
  readonly dimmed: boolean;
}

/** The definition of a job, and below it the error, the progress or the id. One height for any content. */
export function JobName({ job, href, dimmed }: JobNameProps) {
  return (
    <>
      <Link
        href={href}
        data-job-link
        title={dimmed ? "No longer matches the filter" : undefined}
        className="block truncate rounded-sm font-medium text-sm hover:underline"
      >
        {job.definition_key}
      </Link>
      <p className="truncate text-muted text-xs">
        <SecondLine job={job} />
      </p>
    </>
  );
}

function SecondLine({ job }: { readonly job: JobRow }) {
  const failed = job.last_error && ["failed", "dead_letter", "queued", "expired"].includes(job.status);
  const message = job.status === "running" ? job.progress?.message : null;
  return (
    <>
      <span className="inline-block min-w-16 pr-1 sm:hidden">
        <Time value={job.queued_at} />
      </span>
      {failed ? (
        <span className="text-bad">
          <Plain oneLine text={messageBeforeTrace(job.last_error ?? "")} />
        </span>
      ) : null}
      {!failed && message ? <Plain oneLine text={message} /> : null}
      {!failed && !message ? <span className="font-mono">{job.id}</span> : null}
    </>
  );
}

interface JobRowActionsProps {
  readonly job: JobRow;
  readonly href: string;
  readonly actions: JobActions;
}

/** The button of a job's most likely action, and the menu with the others. */
export function JobRowActions({ job, href, actions }: JobRowActionsProps) {
  const action = isCancelable(job.status) ? "cancel" : "retry";
  const Icon = action === "cancel" ? Ban : RotateCcw;
  const label = `${ACTION_NAMES[action]} ${job.definition_key}`;
  return (
    <div className="flex items-center justify-end gap-0.5">
      {job.status === "succeeded" ? null : (
        <Button
          variant="ghost"
          size="icon"
          aria-label={label}
          title={label}
          reason={actions.reasonAgainst(action, job)}
          busy={actions.busyId === job.id}
          onClick={() => actions.run(action, job)}
          className="max-sm:hidden"
        >
          <Icon aria-hidden className="size-3.5" />
        </Button>
      )}
      <JobMenu job={job} href={href} action={action} actions={actions} />
    </div>
  );
}

const ACTION_NAMES = { cancel: "Cancel", retry: "Retry" } as const;

function JobMenu({ job, href, action, actions }: JobRowActionsProps & { readonly action: keyof typeof ACTION_NAMES }) {
  const copy = useCopy();
  return (
    <Menu
      label={`More for ${job.definition_key}`}
      trigger={
        <Button variant="ghost" size="icon" aria-label={`More for ${job.definition_key}`}>
          <Ellipsis aria-hidden className="size-4" />
        </Button>
      }
    >
      {job.status === "succeeded" ? null : (
        <MenuItem
          className="sm:hidden"
          disabled={actions.reasonAgainst(action, job) !== null || actions.busyId === job.id}
          onSelect={() => actions.run(action, job)}
        >
          {ACTION_NAMES[action]}
        </MenuItem>
      )}
      <MenuItem asChild>
        <Link href={href}>Attempts</Link>
      </MenuItem>
      <MenuItem asChild>
        <Link href={`${href}?tab=output`}>Output</Link>
      </MenuItem>
      <MenuItem onSelect={() => copy(job.id)}>Copy id</MenuItem>
      <MenuItem
        onSelect={() => copy(`curl -H "Authorization: Bearer $KEY" ${window.location.origin}/api/v1/jobs/${job.id}`)}
      >
        Copy as curl
      </MenuItem>
    </Menu>
  );
}

/** Returns a function that copies a text and says so. */
function useCopy() {
  const toast = useToast();
  return (text: string) =>
    navigator.clipboard.writeText(text).then(
      () => toast({ title: "Copied" }),
      () => toast({ title: "Could not copy", tone: "bad" }),
    );
}
