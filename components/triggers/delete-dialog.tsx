"use client";

import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { useToast } from "@/components/ui/toast";
import { useDeleteTrigger } from "@/lib/client/triggers/triggers";
import type { Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { refusal } from "./refusal";

interface DeleteDialogProps {
  readonly trigger: Trigger;
  readonly onClose: () => void;
  readonly onDeleted?: () => void;
}

/** Asks before a trigger is deleted, and says what stops with it. */
export function DeleteDialog({ trigger, onClose, onDeleted }: DeleteDialogProps) {
  const { slug } = useTenant();
  const toast = useToast();
  const remove = useDeleteTrigger(slug);
  const confirm = () =>
    remove.mutate(
      { id: trigger.id, version: trigger.version },
      {
        onSuccess: () => {
          toast({ title: "Deleted", detail: trigger.label });
          onClose();
          onDeleted?.();
        },
        onError: (error) => {
          toast({ title: "Not deleted", detail: refusal(error), tone: "bad" });
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title="Delete this trigger?"
      keep="Keep it"
      action="Delete trigger"
      busy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p className="break-words font-medium">
        <Plain text={trigger.label} />
      </p>
      <WhatStops trigger={trigger} />
      <p className="text-muted">
        Jobs it started keep running. This cannot be undone; to stop it for now, disable it instead.
      </p>
    </ConfirmDialog>
  );
}

function WhatStops({ trigger }: { readonly trigger: Trigger }) {
  const job = <code className="font-mono text-xs">{trigger.definition_key}</code>;
  if (trigger.trigger_type === "event") {
    return (
      <p>
        {job} will no longer start for events named{" "}
        <code className="break-all font-mono text-xs">{trigger.event_name}</code>.
      </p>
    );
  }
  if (trigger.next_run_at === null) return <p>It will no longer start {job}. No run is planned.</p>;
  return (
    <p>
      Its next run, <Time value={trigger.next_run_at} kind="absolute" />, and all later runs will not start {job}.
    </p>
  );
}
