"use client";

import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { previewBodyOf, triggerFieldsOf } from "@/lib/client/triggers/trigger-form";
import { triggerPreviewOptions } from "@/lib/client/triggers/triggers";
import type { Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { SchedulePreviewPanel } from "./schedule-preview";

const AGAIN_MS = 60_000;

/** When a schedule trigger fires next. A past instant is dimmed and stays until the user asks for newer ones. */
export function UpcomingInstants({ trigger }: { readonly trigger: Trigger }) {
  const { slug } = useTenant();
  const body = previewBodyOf(triggerFieldsOf(trigger));
  const query = useQuery({
    ...triggerPreviewOptions(slug, { ...body, ...exactTimes(trigger) }),
    enabled: body !== null,
    staleTime: 0,
    refetchInterval: AGAIN_MS,
  });
  const preview = query.data;
  const latest = useMemo(() => preview?.occurrences.map((one) => ({ ...one, id: one.at })), [preview]);
  const { rows = [], shown, showWaiting } = usePinnedRows(latest, JSON.stringify(body), { whole: true });
  return (
    <SchedulePreviewPanel
      preview={preview && { ...preview, occurrences: [...rows] }}
      fault={preview ? null : (query.error?.message ?? null)}
      busy={false}
      showNewest={<ShowNewest noun="instant" waiting={shown.waiting.length} onShow={() => showWaiting()} />}
    />
  );
}

/** The exact instants, because the form has only whole seconds. */
const exactTimes = ({ anchor_at, once_at, expires_at }: Trigger) => ({ anchor_at, once_at, expires_at });
