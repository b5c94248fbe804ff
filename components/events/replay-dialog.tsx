"use client";

import { useState } from "react";
import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
import { useToast } from "@/components/ui/toast";
import { plural } from "@/lib/client/format";
import { randomKey } from "@/lib/client/forms/random-key";
import { useReplayEvent } from "@/lib/client/triggers/events";
import type { Event } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { refusal } from "../triggers/refusal";

/** Asks before a stored event is matched with the triggers again, and says what that may start. */
export function ReplayDialog({ event, onClose }: { readonly event: Event; readonly onClose: () => void }) {
  const { slug } = useTenant();
  const toast = useToast();
  const replay = useReplayEvent(slug);
  const [key] = useState(randomKey);
  const confirm = () =>
    replay.mutate(
      { id: event.id, key },
      {
        onSuccess: ({ matched_count: matched, started_count: started }) => {
          toast({
            title: "Event replayed",
            detail: `${plural(matched, "trigger")} matched, ${plural(started, "job")} started`,
          });
          onClose();
        },
        onError: (error) => {
          toast({ title: "Event not replayed", detail: refusal(error), tone: "bad" });
          onClose();
        },
      },
    );
  return (
    <ConfirmDialog
      title="Replay this event?"
      keep="Cancel"
      action="Replay event"
      danger={false}
      busy={replay.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p>
        Every trigger that listens to <code className="break-all font-mono text-xs">{event.name}</code> now and whose
        condition is true starts its job, with the event's original data, time and id.
      </p>
      <p className="text-muted">
        A job is not started again while its dedupe key is in use. The replay is audited under your name.
      </p>
    </ConfirmDialog>
  );
}
