/*
 * The Assets page: the files that the latest scans of the tenant's folders found, and the lists that `import-csv`
 * filled. The page only reads. Files are refetched when a job succeeds, lists when an `import-csv` job does; new files
 * wait until the user asks for them.
 *
 * Start with the page below, then `asset-table.tsx` and `imported-lists.tsx`.
 */

"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { FolderTree } from "lucide-react";
import { parseAsString, useQueryStates } from "nuqs";
import { Button } from "@/components/ui/button";
import { FilterSelect } from "@/components/ui/forms/select";
import { Link } from "@/components/ui/link";
import { ListPanel } from "@/components/ui/lists/list-panel";
import { FROM_FIRST, TotalPager } from "@/components/ui/lists/pager";
import { Empty } from "@/components/ui/states";
import { assetKeys, assetsOptions, providersOptions } from "@/lib/client/assets";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import { useTenant } from "../shell/viewer";
import { AssetTable } from "./asset-table";
import { ImportedListsPanel } from "./imported-lists";

/** The files found by the latest scans of the tenant's folders. */
export function AssetsPage() {
  const { slug } = useTenant();
  const [params, setParams] = useQueryStates({ provider: parseAsString, cursor: parseAsString }, { history: "push" });
  const refetchInterval = usePollInterval();
  const query = useQuery({ ...assetsOptions(slug, params), placeholderData: keepPreviousData, refetchInterval });
  const providers = useQuery(providersOptions(slug));
  useRefresh(assetKeys.all(slug), (change) => change.status === "succeeded");
  const latest = query.isPlaceholderData ? undefined : query.data?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(params), { pinsEmpty: true });
  const names = new Map(providers.data?.data.map((provider) => [provider.id, provider.name]));
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <h1 className="flex-1 font-semibold text-xl tracking-tight">Assets</h1>
        <FilterSelect
          aria-label="Folder"
          any="Every folder"
          options={names}
          value={params.provider ?? ""}
          onChoose={(provider) => void setParams({ provider: provider || null, cursor: null })}
        />
      </header>
      <ListPanel
        label="Inventory"
        noun="file"
        query={query}
        rows={rows}
        waiting={shown.waiting.length}
        onShow={() => showWaiting()}
        empty={
          <NoAssets
            slug={slug}
            narrowed={params.provider !== null || params.cursor !== null}
            onAll={() => void setParams(null)}
          />
        }
        footer={
          <TotalPager
            page={query.data}
            unit="files"
            words={FROM_FIRST}
            cursor={params.cursor}
            onTurn={(cursor) => void setParams({ cursor })}
          />
        }
      >
        <AssetTable assets={rows} gone={shown.gone} names={names} />
      </ListPanel>
      <ImportedListsPanel />
    </div>
  );
}

interface NoAssetsProps {
  readonly slug: string;
  readonly narrowed: boolean;
  readonly onAll: () => void;
}

function NoAssets({ slug, narrowed, onAll }: NoAssetsProps) {
  if (narrowed) {
    return (
      <Empty icon={FolderTree} title="Nothing in this folder">
        <Button onClick={onAll}>Every folder</Button>
      </Empty>
    );
  }
  return (
    <Empty icon={FolderTree} title="No files yet">
      <p>
        An asset is a file that a job found in one of the tenant's folders, with its size and checksum. Run{" "}
        <code className="font-mono">sync-folder</code> on a folder to fill this list.
      </p>
      <Link href={`/t/${slug}/jobs`} className="font-medium text-accent underline">
        Go to jobs
      </Link>
    </Empty>
  );
}
