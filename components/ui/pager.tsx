"use client";

import { Button } from "./button";

interface PagerProps {
  readonly label: string;
  /** Where the page begins; null = at the newest. */
  readonly cursor: string | null;
  readonly next: string | null;
  readonly onTurn: (cursor: string | null) => void;
}

/** The footer of a list that is paged from newest to oldest. */
export function Pager({ label, cursor, next, onTurn }: PagerProps) {
  const turn = (to: string | null) => {
    onTurn(to);
    window.scrollTo({ top: 0 });
    document.getElementById("main")?.focus({ preventScroll: true });
  };
  return (
    <nav aria-label="Pages" className="flex min-h-11 flex-wrap items-center gap-2 border-line border-t px-4 py-2">
      <p className="tabular flex-1 text-muted text-xs">{label}</p>
      {cursor === null ? null : (
        <Button size="sm" onClick={() => turn(null)}>
          Newest
        </Button>
      )}
      {next === null ? null : (
        <Button size="sm" onClick={() => turn(next)}>
          Older
        </Button>
      )}
    </nav>
  );
}
