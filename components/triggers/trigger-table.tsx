"use client";

import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Switch } from "@/components/ui/switch";
import type { Trigger } from "@/lib/contract";
import { OutcomeBar } from "./outcome";
import { LastFiring, RowActions, TriggerName } from "./trigger-cells";
import { NextFiring } from "./trigger-state";
import { type TriggerActions, useTriggerActions } from "./use-trigger-actions";

interface TriggerTableProps {
  /** Undefined while the first answer is loading. */
  readonly triggers: readonly Trigger[] | undefined;
  /** Triggers that are no longer in the list. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
}

/** The triggers of a page. */
export function TriggerTable({ triggers, gone }: TriggerTableProps) {
  const actions = useTriggerActions();
  return (
    <>
      <DataTable
        caption="Triggers, newest first"
        columns={[switchColumn(actions), ...COLUMNS, actionsColumn(actions)]}
        rows={triggers}
        rowKey={({ id }) => id}
        rowClass="h-16 hover:bg-hover"
        rowAttributes={({ id, is_enabled: on }) => ({
          "data-trigger-id": id,
          className: (gone.has(id) || !on) && "text-muted",
        })}
        loading={{ rows: 4, className: "h-16" }}
      />
      {actions.dialog}
    </>
  );
}

const switchColumn = (actions: TriggerActions): Column<Trigger> => ({
  id: "on",
  head: "On",
  width: "w-14 pr-0",
  className: "w-14 py-0 pr-0 pl-1.5 sm:first:pl-3",
  placeholder: ["ml-1.5 h-5 w-9 rounded-full"],
  cell: (trigger) => (
    <Switch
      label={`${trigger.label} is on`}
      on={trigger.is_enabled}
      reason={actions.noWrite}
      onChange={(on) => actions.toggle(trigger, on)}
    />
  ),
});

const COLUMNS: readonly Column<Trigger>[] = [
  {
    id: "trigger",
    head: "Trigger",
    className: "max-w-0 py-1.5",
    placeholder: ["h-4 w-40 max-w-full", "mt-1.5 h-3 w-64 max-w-full"],
    cell: (trigger) => <TriggerName trigger={trigger} />,
  },
  {
    id: "starts",
    head: "Starts",
    from: "lg",
    width: "w-28",
    className: "max-w-0 text-sm",
    cell: ({ definition_key: key }) => (
      <p className="truncate" title={key}>
        {key}
      </p>
    ),
  },
  {
    id: "last",
    head: "Last firing",
    from: "md",
    width: "w-36",
    cell: (trigger) => <LastFiring trigger={trigger} />,
  },
  {
    id: "next",
    head: "Next firing",
    from: "sm",
    width: "w-48",
    className: "text-sm",
    cell: (trigger) => <NextFiring trigger={trigger} />,
  },
  {
    id: "recent",
    head: "Newest 20",
    from: "xl",
    width: "w-36",
    cell: ({ recent_firings: firings }) => <OutcomeBar firings={firings} />,
  },
];

const actionsColumn = (actions: TriggerActions): Column<Trigger> => ({
  id: "actions",
  head: "Actions",
  headHidden: true,
  width: "w-20 max-sm:w-12",
  className: "w-20 px-2 max-sm:w-12 sm:pr-3",
  cell: (trigger) => <RowActions trigger={trigger} actions={actions} />,
});
