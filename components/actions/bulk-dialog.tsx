"use client";

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { FormDialog } from "@/components/ui/forms/form-dialog";
import type { FormFaults } from "@/components/ui/forms/form-faults";
import { InputField } from "@/components/ui/forms/input-field";
import { QueryProblem, Skeleton } from "@/components/ui/states";
import { formatCount, plural } from "@/lib/client/format";
import { faultsOf } from "@/lib/client/forms/faults";
import { instantOf, localInput } from "@/lib/client/forms/local-input";
import { useIntentKey } from "@/lib/client/forms/use-intent-key";
import {
  ACTION_WORDS,
  actionPreviewOptions,
  type BulkActionDraft,
  useStartAction,
} from "@/lib/client/jobs/job-actions";
import type { BulkAction, JobAction, JobActionPreview } from "@/lib/contract";
import { StatusBadge } from "../jobs/status";
import { useTenant } from "../shell/viewer";

const SHOWN_SAMPLES = 5;

interface BulkDialogProps {
  readonly action: BulkAction;
  /** The request, without the value that some actions need. */
  readonly request: BulkActionDraft;
  readonly onClose: () => void;
  readonly onStarted: (action: JobAction) => void;
}

const FIELDS = ["priority", "scheduled_for"];

/** Shows how many jobs an action would apply to and which, asks for its value, and starts it. */
export function BulkDialog({ action, request, onClose, onStarted }: BulkDialogProps) {
  const { slug } = useTenant();
  const [value, setValue] = useState(() => (action === "reschedule" ? localInput(new Date().toISOString()) : "100"));
  const [faults, setFaults] = useState<FormFaults>(new Map());
  const [countedAt] = useState(() => new Date().toISOString());
  const preview = useQuery(
    actionPreviewOptions(slug, withValue(request, action, action === "reschedule" ? countedAt : "100")),
  );
  const start = useStartAction(slug);
  const { keyFor, forgetRefused } = useIntentKey();
  const submit = () => {
    if (start.isPending) return;
    const sent = action === "reschedule" ? instantOf(value) : value;
    if (sent === null) return setFaults(new Map([["scheduled_for", "This must be a date and a time."]]));
    const wanted = withValue(request, action, sent);
    start.mutate(
      { request: wanted, key: keyFor(wanted) },
      {
        onSuccess: (accepted) => {
          onStarted(accepted);
          onClose();
        },
        onError: (error) => {
          forgetRefused(error);
          setFaults(faultsOf(error));
        },
      },
    );
  };
  const words = ACTION_WORDS[action];
  return (
    <FormDialog
      title={`${words.verb} many jobs?`}
      submit={preview.data ? `${words.verb} ${counted(preview.data)}` : words.order}
      danger={action === "cancel"}
      faults={faults}
      fields={FIELDS}
      busy={start.isPending}
      reason={preview.data?.count === 0 ? "No job matches." : null}
      onSubmit={submit}
      onClose={onClose}
    >
      {preview.isError ? <QueryProblem query={preview} /> : null}
      {preview.isPending ? <Skeleton className="h-5 w-48" /> : null}
      {preview.data ? <Counted preview={preview.data} done={words.done} /> : null}
      <ActionValue action={action} value={value} faults={faults} onChange={setValue} />
    </FormDialog>
  );
}

interface ActionValueProps {
  readonly action: BulkAction;
  readonly value: string;
  readonly faults: FormFaults;
  readonly onChange: (value: string) => void;
}

/** The field of an action that needs a value; renders nothing for the others. */
function ActionValue({ action, value, faults, onChange }: ActionValueProps) {
  if (action === "set_priority") {
    return (
      <InputField
        label="Priority"
        hint="1 is the highest priority, 1000 the lowest."
        error={faults.get("priority")}
        inputMode="numeric"
        value={value}
        onText={onChange}
      />
    );
  }
  if (action !== "reschedule") return null;
  return (
    <InputField
      label="Not before"
      error={faults.get("scheduled_for")}
      type="datetime-local"
      step={1}
      value={value}
      onText={onChange}
    />
  );
}

const counted = ({ count, count_relation: relation }: JobActionPreview) =>
  relation === "gte" ? `${formatCount(count)} jobs or more` : plural(count, "job");

function Counted({ preview, done }: { readonly preview: JobActionPreview; readonly done: string }) {
  const { count, count_relation: relation, samples } = preview;
  const rest = count - Math.min(samples.length, SHOWN_SAMPLES);
  if (count === 0) {
    return <p className="text-muted text-sm">None of them can be {done} where they stand now.</p>;
  }
  return (
    <div className="flex flex-col gap-2">
      <p className="text-sm">
        <strong className="font-medium">
          {relation === "gte" ? "At least " : ""}
          {plural(count, "job")}
        </strong>{" "}
        will be {done}. Jobs that cannot be, or that are enqueued later, are left alone.
      </p>
      <ul aria-label="Some of them" className="flex flex-col divide-y divide-line rounded-md border border-line">
        {samples.slice(0, SHOWN_SAMPLES).map((job) => (
          <li key={job.id} className="flex min-h-9 items-center gap-3 px-3 text-sm">
            <StatusBadge status={job.status} canceling={job.cancel_requested_at !== null} />
            <span className="min-w-0 flex-1 truncate">{job.definition_key}</span>
            <code className="hidden truncate font-mono text-muted text-xs sm:block">{job.id.slice(-12)}</code>
          </li>
        ))}
      </ul>
      {rest > 0 ? <p className="text-muted text-xs">and {formatCount(rest)} more</p> : null}
    </div>
  );
}

function withValue(request: BulkActionDraft, action: BulkAction, value: string): BulkActionDraft {
  if (request.kind === "dead-letters") return request;
  if (action === "set_priority") return { ...request, body: { ...request.body, priority: Number(value) } };
  if (action === "reschedule") return { ...request, body: { ...request.body, scheduled_for: value } };
  return request;
}
