"use client";

import { type ReactNode, useState } from "react";
import { useToast } from "@/components/ui/toast";
import { useSwitchTrigger } from "@/lib/client/triggers/triggers";
import type { Trigger } from "@/lib/contract";
import { useReason, useTenant } from "../shell/viewer";
import { DeleteDialog } from "./delete-dialog";
import { refusal } from "./refusal";
import { RunDialog } from "./run-dialog";

export interface TriggerActions {
  /** Why the viewer may not change triggers; null when they may. */
  readonly noWrite: string | null;
  readonly toggle: (trigger: Trigger, on: boolean) => void;
  readonly run: (trigger: Trigger) => void;
  readonly remove: (trigger: Trigger) => void;
  /** The open dialog, if any; render it once. */
  readonly dialog: ReactNode;
}

/** The actions on triggers in a list. */
export function useTriggerActions(onDeleted?: () => void): TriggerActions {
  const { slug } = useTenant();
  const toast = useToast();
  const noWrite = useReason("triggers:write");
  const change = useSwitchTrigger(slug);
  const [open, setOpen] = useState<{ readonly what: "run" | "delete"; readonly trigger: Trigger } | null>(null);
  const close = () => setOpen(null);
  const toggle = (trigger: Trigger, on: boolean) =>
    change.mutate(
      { trigger, on },
      {
        onSuccess: () => toast({ title: on ? "Enabled" : "Disabled", detail: trigger.label }),
        onError: (error) => toast({ title: "Could not change the trigger", detail: refusal(error), tone: "bad" }),
      },
    );
  const dialog =
    open === null ? null : open.what === "run" ? (
      <RunDialog trigger={open.trigger} onClose={close} />
    ) : (
      <DeleteDialog trigger={open.trigger} onClose={close} onDeleted={onDeleted} />
    );
  return {
    noWrite,
    toggle,
    run: (trigger) => setOpen({ what: "run", trigger }),
    remove: (trigger) => setOpen({ what: "delete", trigger }),
    dialog,
  };
}
