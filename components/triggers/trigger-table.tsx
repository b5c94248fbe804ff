"use client";

import { Skeleton } from "@/components/ui/states";
import type { Trigger } from "@/lib/contract";
import { TriggerTableRow } from "./trigger-row";
import { useTriggerActions } from "./use-trigger-actions";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

/** The triggers of a page; undefined while the first answer is loading. */
export function TriggerTable({
  triggers,
  gone,
}: {
  readonly triggers: readonly Trigger[] | undefined;
  /** Triggers that are no longer in the list. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
}) {
  const actions = useTriggerActions();
  return (
    <>
      <table aria-busy={triggers === undefined} className="w-full border-collapse">
        <caption className="sr-only">Triggers, newest first</caption>
        <thead>
          <tr>
            <th scope="col" className={`${HEAD} w-14 pr-0 sm:pl-4`}>
              On
            </th>
            <th scope="col" className={HEAD}>
              Trigger
            </th>
            <th scope="col" className={`${HEAD} hidden w-28 lg:table-cell`}>
              Starts
            </th>
            <th scope="col" className={`${HEAD} hidden w-36 md:table-cell`}>
              Last firing
            </th>
            <th scope="col" className={`${HEAD} hidden w-48 sm:table-cell`}>
              Next firing
            </th>
            <th scope="col" className={`${HEAD} hidden w-36 xl:table-cell`}>
              Newest 20
            </th>
            <th scope="col" className={`${HEAD} w-20 max-sm:w-12`}>
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {triggers?.map((trigger) => (
            <TriggerTableRow key={trigger.id} trigger={trigger} gone={gone.has(trigger.id)} actions={actions} />
          )) ?? <Waiting />}
        </tbody>
      </table>
      {actions.dialog}
    </>
  );
}

const ROWS = ["a", "b", "c", "d"];

function Waiting() {
  return ROWS.map((key) => (
    <tr key={key} className="h-16 border-line border-t">
      <td className="px-3 sm:pl-4">
        <Skeleton className="h-5 w-9 rounded-full" />
      </td>
      <td className="px-3" colSpan={6}>
        <Skeleton className="h-4 w-40 max-w-full" />
        <Skeleton className="mt-1.5 h-3 w-64 max-w-full" />
      </td>
    </tr>
  ));
}
