"use client";

import { CalendarClock, Ellipsis, Play, Radio } from "lucide-react";
import { memo } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { Menu, MenuItem, MenuSeparator } from "@/components/ui/menu";
import { Plain } from "@/components/ui/plain";
import { Switch } from "@/components/ui/switch";
import { Time } from "@/components/ui/time";
import type { Trigger } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { FiringBadge, OutcomeBar } from "./outcome";
import { NextFiring, TriggerMarks } from "./trigger-state";
import type { TriggerActions } from "./use-trigger-actions";
import { KIND_WORDS, reasonWords, whenWords } from "./words";

interface TriggerRowProps {
  readonly trigger: Trigger;
  readonly gone: boolean;
  readonly actions: TriggerActions;
}

/** One trigger of the list. */
export const TriggerTableRow = memo(function TriggerRow({ trigger, gone, actions }: TriggerRowProps) {
  const { slug } = useTenant();
  const href = `/t/${slug}/jobs/triggers/${trigger.id}`;
  const Icon = trigger.trigger_type === "event" ? Radio : CalendarClock;
  return (
    <tr
      data-trigger-id={trigger.id}
      className={cn("h-16 border-line border-t hover:bg-hover", (gone || !trigger.is_enabled) && "text-muted")}
    >
      <td className="w-14 py-0 pr-0 pl-1.5 sm:pl-3">
        <Switch
          label={`${trigger.label} is on`}
          on={trigger.is_enabled}
          reason={actions.noWrite}
          onChange={(on) => actions.toggle(trigger, on)}
        />
      </td>
      <td className="max-w-0 px-3 py-1.5">
        <p className="flex items-center gap-2">
          <Link href={href} className="min-w-0 truncate rounded-sm font-medium text-sm hover:underline">
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
      </td>
      <td className="hidden max-w-0 truncate px-3 text-sm lg:table-cell" title={trigger.definition_key}>
        {trigger.definition_key}
      </td>
      <td className="hidden px-3 md:table-cell">
        <LastFiring trigger={trigger} slug={slug} />
      </td>
      <td className="hidden px-3 text-sm sm:table-cell">
        <NextFiring trigger={trigger} />
      </td>
      <td className="hidden px-3 xl:table-cell">
        <OutcomeBar firings={trigger.recent_firings} />
      </td>
      <td className="w-20 px-2 max-sm:w-12 sm:pr-3">
        <RowActions trigger={trigger} href={href} actions={actions} />
      </td>
    </tr>
  );
});

function LastFiring({ trigger, slug }: { readonly trigger: Trigger; readonly slug: string }) {
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

function RowActions({ trigger, href, actions }: Omit<TriggerRowProps, "gone"> & { readonly href: string }) {
  const { slug } = useTenant();
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
