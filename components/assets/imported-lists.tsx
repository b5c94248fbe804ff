"use client";

import { useQuery } from "@tanstack/react-query";
import { ShowNewest } from "@/components/ui/lists/show-newest";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { importedListsKey, importedListsOptions } from "@/lib/client/assets";
import { formatCount, plural } from "@/lib/client/format";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { useTenant } from "../shell/viewer";

const COLUMNS_SHOWN = 6;

/** The lists filled by `import-csv`; renders nothing if there are none. */
export function ImportedListsPanel() {
  const { slug } = useTenant();
  const query = useQuery({ ...importedListsOptions(slug), refetchInterval: usePollInterval() });
  useRefresh(
    importedListsKey(slug),
    ({ status, definition_key: key }) => status === "succeeded" && key === "import-csv",
  );
  const { rows: lists = [], shown, showWaiting } = usePinnedRows(query.data?.data, slug);
  if (lists.length === 0) return null;
  return (
    <section id="lists" aria-labelledby="lists-title" className="panel scroll-mt-16 overflow-clip">
      <header className="relative flex flex-wrap items-baseline gap-x-3 px-4 py-3">
        <h2 id="lists-title" className="font-medium text-sm">
          Imported lists
        </h2>
        <p className="text-muted text-xs">
          Filled by <code className="font-mono">import-csv</code>
          {query.data?.pagination.has_more ? `, the newest ${lists.length} of ${query.data.pagination.total}` : ""}
        </p>
        <ShowNewest
          className="absolute top-2 right-3"
          noun="list"
          waiting={shown.waiting.length}
          onShow={() => showWaiting()}
        />
      </header>
      <ul>
        {lists.map((list) => (
          <li key={list.id} className="flex items-center gap-4 border-line border-t px-4 py-2 text-sm">
            <div className="min-w-0 flex-1">
              <p className="truncate">
                <Plain oneLine text={list.name} />
              </p>
              <p className="truncate text-muted text-xs">
                <Plain oneLine text={columnsOf(list.columns)} />
              </p>
            </div>
            <span className="tabular whitespace-nowrap">
              {formatCount(list.row_count)} {list.row_count === 1 ? "row" : "rows"}
            </span>
            <span className="w-28 shrink-0 text-right text-muted max-sm:hidden">
              <Time value={list.updated_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function columnsOf(columns: readonly string[]): string {
  const more = columns.length - COLUMNS_SHOWN;
  const named = columns.slice(0, COLUMNS_SHOWN).join(", ");
  return more > 0 ? `${named} and ${plural(more, "more column")}` : named;
}
