"use client";

import type { ReactNode } from "react";
import { formatCount } from "@/lib/client/format";
import type { Pagination } from "@/lib/contract";
import { Button } from "../button";

interface PagerProps {
  readonly label?: string;
  /** Where the page begins; null = the first page. */
  readonly cursor: string | null;
  readonly next: string | null;
  readonly onTurn: (cursor: string | null) => void;
  /** The labels of the buttons to the first and to the next page. */
  readonly words?: readonly [first: string, next: string];
  /** Leaves the scroll position and the focus, for a list that is only a part of its page. */
  readonly inPlace?: boolean;
  /** More buttons, shown on all pages but the first. */
  readonly children?: ReactNode;
}

const FROM_NEWEST = ["Newest", "Older"] as const;
export const FROM_FIRST = ["First", "Next"] as const;

/** The footer of a paged list: its length or order, and the buttons to the first and to the next page. */
export function Pager({ label, cursor, next, onTurn, words = FROM_NEWEST, inPlace, children }: PagerProps) {
  const turn = (to: string | null) => {
    onTurn(to);
    if (inPlace) return;
    window.scrollTo({ top: 0 });
    document.getElementById("main")?.focus({ preventScroll: true });
  };
  return (
    <nav aria-label="Pages" className="flex min-h-11 flex-wrap items-center gap-2 border-line border-t px-4 py-2">
      <p className="tabular flex-1 text-muted text-xs">{label}</p>
      {cursor === null ? null : (
        <>
          <Button size="sm" onClick={() => turn(null)}>
            {words[0]}
          </Button>
          {children}
        </>
      )}
      {next === null ? null : (
        <Button size="sm" onClick={() => turn(next)}>
          {words[1]}
        </Button>
      )}
    </nav>
  );
}

interface TotalPagerProps extends Pick<PagerProps, "cursor" | "onTurn" | "words" | "inPlace"> {
  /** Undefined while the first answer is loading. */
  readonly page: { readonly data: readonly unknown[]; readonly pagination: Pagination } | undefined;
  /** What follows the number: "in all", "files". */
  readonly unit: string;
}

/** The footer of a list that says how long it is; renders nothing for an empty one. */
export function TotalPager({ page, unit, ...pager }: TotalPagerProps) {
  if (!page || page.data.length === 0) return null;
  const { has_more: more, next_cursor: next } = page.pagination;
  return <Pager {...pager} label={`${totalOf(page.pagination)} ${unit}`} next={more ? next : null} />;
}

/** Returns the length of a list: "more than 10,000". */
export function totalOf({ total, total_relation: relation }: Pagination): string {
  return `${relation === "gte" ? "more than " : ""}${formatCount(total)}`;
}
