"use client";

import { useState } from "react";
import type { JobRow } from "@/lib/contract";

export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** Every job that matches the filters, including those on other pages. */
  readonly all: boolean;
  readonly toggle: (id: string) => void;
  readonly togglePage: () => void;
  readonly selectAll: () => void;
  readonly clear: () => void;
}

interface Chosen {
  readonly key: string;
  readonly ids: ReadonlySet<string>;
  readonly all: boolean;
}

/** The selected rows. Other filters reset the selection, because it means nothing in another list. */
export function useSelection(filterKey: string, rows: readonly JobRow[]): Selection {
  const none: Chosen = { key: filterKey, ids: new Set(), all: false };
  const [stored, setChosen] = useState<Chosen>(none);
  const kept = stored.key === filterKey ? stored : none;
  const shown = new Set(rows.map((row) => row.id));
  // An action must not reach a row that the user cannot see.
  const chosen: Chosen = { ...kept, ids: new Set([...kept.ids].filter((id) => shown.has(id))) };
  const choose = (ids: ReadonlySet<string>, all = false) => setChosen({ key: filterKey, ids, all });
  const toggle = (id: string) => {
    const ids = new Set(chosen.ids);
    if (!ids.delete(id)) ids.add(id);
    choose(ids);
  };
  const isWhole = rows.length > 0 && rows.every((row) => chosen.ids.has(row.id));
  return {
    ids: chosen.ids,
    all: chosen.all,
    toggle,
    togglePage: () => choose(isWhole ? new Set() : new Set(rows.map((row) => row.id))),
    selectAll: () => choose(new Set(rows.map((row) => row.id)), true),
    clear: () => choose(new Set()),
  };
}
