"use client";

import { CalendarClock, Ellipsis, Play, Radio } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Link } from "@/components/ui/link";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/menu";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import type { Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { FiringBadge } from "./outcome";
import { NextFiring, TriggerMarks } from "./trigger-state";
import type { TriggerActions } from "./use-trigger-actions";
import { KIND_WORDS, reasonWords, whenWords } from "./words";

/** A trigger's name with what starts it, in up to three lines. */
export function TriggerName({ trigger }: { readonly trigger: Trigger }) {
  const { slug } = useTenant();
  const Icon = trigger.trigger_type === "event" ? Radio : CalendarClock;
  return (
    <>
      <p className="flex items-center gap-2">
        <Link
          href={`/t/${slug}/jobs/triggers/${trigger.id}`}
          className="min-w-0 truncate rounded-sm font-medium text-sm hover:underline"
        >
          <Plain oneLine text={trigger.label} />
        </Link>
        <TriggerMarks trigger={trigger} />
      </p>
      <p className="flex items-center gap-1.5 text-muted text-xs">
        <Icon aria-label={KIND_WORDS[trigger.trigger_type]} className="size-3.5 shrink-0" />
        <span className="truncate" title={whenWords(trigger)}>
          <Plain oneLine text={whenWords(trigger)} />
        </span>
      </p>
      {trigger.status === "broken" && trigger.status_reason ? (
        <p className="truncate text-bad text-xs max-sm:hidden" title={reasonWords(trigger.status_reason)}>
          <Plain oneLine text={reasonWords(trigger.status_reason)} />
        </p>
      ) : null}
      <p className="truncate text-muted text-xs sm:hidden">
        <NextFiring trigger={trigger} short />
      </p>
    </>
  );
}

export function LastFiring({ trigger }: { readonly trigger: Trigger }) {
  const { slug } = useTenant();
  const [last] = trigger.recent_firings;
  if (!last) return <span className="text-muted text-sm">never</span>;
  const badge = <FiringBadge outcome={last.outcome} />;
  return (
    <>
      {last.job_id === null ? (
        badge
      ) : (
        <Link href={`/t/${slug}/jobs/${last.job_id}`} title="Open its job" className="inline-block rounded-full">
          {badge}
        </Link>
      )}
      <p className="text-muted text-xs">
        <Time value={last.fire_at} />
      </p>
    </>
  );
}

interface RowActionsProps {
  readonly trigger: Trigger;
  readonly actions: TriggerActions;
}

export function RowActions({ trigger, actions }: RowActionsProps) {
  const { slug } = useTenant();
  const href = `/t/${slug}/jobs/triggers/${trigger.id}`;
  return (
    <div className="flex items-center justify-end gap-0.5">
      <span className="max-sm:hidden">
        <Button
          variant="ghost"
          size="icon"
          aria-label={`Run ${trigger.label} now`}
          title="Run now"
          reason={actions.noWrite}
          onClick={() => actions.run(trigger)}
        >
          <Play aria-hidden className="size-3.5" />
        </Button>
      </span>
      <Menu
        label={`More for ${trigger.label}`}
        trigger={
          <Button variant="ghost" size="icon" aria-label={`More for ${trigger.label}`}>
            <Ellipsis aria-hidden className="size-4" />
          </Button>
        }
      >
        <MenuItem asChild>
          <Link href={href}>History</Link>
        </MenuItem>
        <MenuItem disabled={actions.noWrite !== null} onSelect={() => actions.run(trigger)}>
          Run now…
        </MenuItem>
        <MenuItem asChild disabled={actions.noWrite !== null}>
          <Link href={`${href}/edit`}>Edit</Link>
        </MenuItem>
        <MenuItem asChild disabled={actions.noWrite !== null}>
          <Link href={`/t/${slug}/jobs/triggers/new?from=${trigger.id}`}>Duplicate</Link>
        </MenuItem>
        <MenuSeparator />
        <MenuItem className="text-bad" disabled={actions.noWrite !== null} onSelect={() => actions.remove(trigger)}>
          Delete…
        </MenuItem>
      </Menu>
    </div>
  );
}
