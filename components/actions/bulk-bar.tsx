"use client";

import { ChevronDown } from "lucide-react";
import { Button } from "@/components/ui/button";
import { Menu, MenuItem } from "@/components/ui/menu";
import { formatCount, plural } from "@/lib/client/format";
import { ACTION_WORDS } from "@/lib/client/jobs/job-actions";
import type { BulkAction, Pagination } from "@/lib/contract";
import { BULK_ACTIONS } from "@/lib/queue/states";
import type { Selection } from "../jobs/list/use-selection";
import { useReason } from "../shell/viewer";

interface BulkBarProps {
  readonly selection: Selection;
  readonly shown: number;
  readonly pagination: Pagination;
  readonly onAction: (action: BulkAction) => void;
}

/** The actions for the selected jobs, and the button that selects the remaining ones. */
export function BulkBar({ selection, shown, pagination, onAction }: BulkBarProps) {
  const noUpdate = useReason("jobs:update");
  const { total, total_relation: relation } = pagination;
  const everything = `${relation === "gte" ? "more than " : ""}${formatCount(total)}`;
  const offersAll = !selection.all && selection.ids.size === shown && (total > shown || relation === "gte");
  return (
    <section
      aria-label="Selection"
      className="flex h-full w-full items-center gap-x-3 whitespace-nowrap bg-accent-soft px-4"
    >
      <p role="status" className="font-medium">
        {selection.all ? `All ${everything} that match` : `${plural(selection.ids.size, "job")} selected`}
      </p>
      {offersAll ? (
        <button type="button" className="min-h-6 text-accent underline" onClick={selection.selectAll}>
          Select all {everything} that match
        </button>
      ) : null}
      <button type="button" className="min-h-6 text-accent underline" onClick={selection.clear}>
        Clear
      </button>
      <span className="flex-1" />
      {noUpdate ? (
        <Button size="sm" reason={noUpdate}>
          Act on them
        </Button>
      ) : (
        <Menu
          label="Act on the selected jobs"
          trigger={
            <Button size="sm" variant="primary">
              Act on them
              <ChevronDown aria-hidden className="size-3.5" />
            </Button>
          }
        >
          {BULK_ACTIONS.map((action) => (
            <MenuItem key={action} onSelect={() => onAction(action)}>
              {ACTION_WORDS[action].order}…
            </MenuItem>
          ))}
        </Menu>
      )}
    </section>
  );
}
