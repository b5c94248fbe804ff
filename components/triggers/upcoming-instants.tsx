"use client";

import { useQuery } from "@tanstack/react-query";
import { useNow } from "@/lib/client/clock";
import { fieldsOf, previewBodyOf } from "@/lib/client/trigger-form";
import { previewOptions } from "@/lib/client/triggers";
import type { Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { SchedulePreview } from "./schedule-preview";

const AGAIN_MS = 60_000;

/** When a schedule's trigger fires next; an instant that has passed is not shown any more. */
export function UpcomingInstants({ trigger }: { readonly trigger: Trigger }) {
  const { slug } = useTenant();
  const now = useNow();
  const body = previewBodyOf(fieldsOf(trigger));
  const query = useQuery({
    ...previewOptions(slug, { ...body, ...exactTimes(trigger) }),
    enabled: body !== null,
    staleTime: 0,
    refetchInterval: AGAIN_MS,
  });
  const preview = query.data && {
    ...query.data,
    occurrences: query.data.occurrences.filter(({ at }) => Date.parse(at) > now),
  };
  return <SchedulePreview preview={preview} fault={query.error?.message ?? null} busy={false} />;
}

/** The form only knows whole seconds. */
const exactTimes = ({ anchor_at, once_at, expires_at }: Trigger) => ({ anchor_at, once_at, expires_at });
