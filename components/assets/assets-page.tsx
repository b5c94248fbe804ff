"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { FolderTree } from "lucide-react";
import { parseAsString, useQueryStates } from "nuqs";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { Link } from "@/components/ui/link";
import { ListBar } from "@/components/ui/list-bar";
import { Plain } from "@/components/ui/plain";
import { Empty, ProblemPanel, Skeleton } from "@/components/ui/states";
import { Time } from "@/components/ui/time";
import { assetKeys, assetsOptions, providersOptions } from "@/lib/client/assets";
import { formatBytes, formatCount } from "@/lib/client/format";
import { usePollInterval } from "@/lib/client/live/use-live";
import { usePinnedRows } from "@/lib/client/live/use-pinned-rows";
import { useRefresh } from "@/lib/client/live/use-refresh";
import type { Asset } from "@/lib/contract";
import { useTenant } from "../shell/viewer";
import { ImportedListsPanel } from "./imported-lists";

const HEAD = "h-9 px-3 text-left font-medium text-muted text-xs";

/** The files found by the latest scans of the tenant's folders. */
export function AssetsPage() {
  const { slug } = useTenant();
  const [place, setPlace] = useQueryStates({ provider: parseAsString, cursor: parseAsString }, { history: "push" });
  const refetchInterval = usePollInterval();
  const query = useQuery({ ...assetsOptions(slug, place), placeholderData: keepPreviousData, refetchInterval });
  const providers = useQuery(providersOptions(slug));
  useRefresh(assetKeys.all(slug), (change) => change.status === "succeeded");
  const latest = query.isPlaceholderData ? undefined : query.data?.data;
  const { rows, shown, showWaiting } = usePinnedRows(latest, JSON.stringify(place), { holdsEmpty: true });
  const names = new Map(providers.data?.data.map((provider) => [provider.id, provider.name]));
  const page = query.data;
  return (
    <div className="flex flex-col gap-4">
      <header className="flex flex-wrap items-center gap-3">
        <h1 className="flex-1 font-semibold text-xl tracking-tight">Assets</h1>
        <select
          aria-label="Folder"
          value={place.provider ?? ""}
          onChange={(event) => void setPlace({ provider: event.target.value || null, cursor: null })}
          className="field w-auto border-line"
        >
          <option value="">Every folder</option>
          {[...names].map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </header>
      <section aria-label="Inventory" className="panel overflow-clip">
        <ListBar
          noun="file"
          waiting={shown.waiting.length}
          onShow={() => showWaiting()}
          read={page !== undefined}
          staleSince={query.isError && page ? query.dataUpdatedAt : null}
          onRetry={() => void query.refetch()}
        />
        {query.isError && !page ? (
          <ProblemPanel error={query.error} onRetry={() => query.refetch()} busy={query.isFetching} />
        ) : rows?.length === 0 ? (
          <NoAssets
            slug={slug}
            narrowed={place.provider !== null || place.cursor !== null}
            onAll={() => void setPlace(null)}
          />
        ) : (
          <AssetTable assets={rows} gone={shown.gone} names={names} />
        )}
        {page && page.data.length > 0 ? (
          <nav aria-label="Pages" className="flex items-center gap-2 border-line border-t px-4 py-2">
            <p className="tabular flex-1 text-muted text-xs">
              {page.pagination.total_relation === "gte" ? "more than " : ""}
              {formatCount(page.pagination.total)} files
            </p>
            {place.cursor !== null ? (
              <Button size="sm" onClick={() => void setPlace({ cursor: null })}>
                First
              </Button>
            ) : null}
            {page.pagination.next_cursor !== null && page.pagination.has_more ? (
              <Button size="sm" onClick={() => void setPlace({ cursor: page.pagination.next_cursor })}>
                Next
              </Button>
            ) : null}
          </nav>
        ) : null}
      </section>
      <ImportedListsPanel />
    </div>
  );
}

function NoAssets({
  slug,
  narrowed,
  onAll,
}: {
  readonly slug: string;
  readonly narrowed: boolean;
  readonly onAll: () => void;
}) {
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

function AssetTable({
  assets,
  gone,
  names,
}: {
  readonly assets: readonly Asset[] | undefined;
  /** Files that are no longer listed. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
  readonly names: ReadonlyMap<string, string>;
}) {
  return (
    <table aria-busy={assets === undefined} className="w-full">
      <caption className="sr-only">Files</caption>
      <thead>
        <tr>
          <th scope="col" className={`${HEAD} sm:pl-4`}>
            Path
          </th>
          <th scope="col" className={`${HEAD} hidden w-40 md:table-cell`}>
            Media type
          </th>
          <th scope="col" className={`${HEAD} w-24 text-right`}>
            Size
          </th>
          <th scope="col" className={`${HEAD} hidden w-36 lg:table-cell`}>
            SHA-256
          </th>
          <th scope="col" className={`${HEAD} hidden w-28 text-right sm:table-cell`}>
            Modified
          </th>
        </tr>
      </thead>
      <tbody>
        {assets?.map((asset) => (
          <AssetRow key={asset.id} asset={asset} gone={gone.has(asset.id)} folder={names.get(asset.provider_id)} />
        )) ?? <Waiting />}
      </tbody>
    </table>
  );
}

interface AssetRowProps {
  readonly asset: Asset;
  readonly gone: boolean;
  readonly folder: string | undefined;
}

function AssetRow({ asset, gone, folder }: AssetRowProps) {
  return (
    <tr className={cn("h-12 border-line border-t hover:bg-hover", gone && "text-muted")}>
      <td className="max-w-0 px-3 sm:pl-4">
        <p className="truncate text-sm" title={asset.path}>
          <Plain oneLine text={asset.path} />
        </p>
        <p className="truncate text-muted text-xs">{folder ? <Plain text={folder} /> : " "}</p>
      </td>
      <td className="hidden truncate px-3 text-muted text-sm md:table-cell">{asset.media_type}</td>
      <td className="whitespace-nowrap px-3 text-right text-sm">{formatBytes(asset.size)}</td>
      <td className="hidden px-3 font-mono text-muted text-xs lg:table-cell" title={asset.sha256}>
        {asset.sha256.slice(0, 12)}…
      </td>
      <td className="hidden px-3 text-right text-muted text-sm sm:table-cell">
        <Time value={asset.modified_at} />
      </td>
    </tr>
  );
}

const ROWS = ["a", "b", "c", "d", "e", "f"];

function Waiting() {
  return ROWS.map((key) => (
    <tr key={key} className="h-12 border-line border-t">
      <td className="px-3 sm:pl-4">
        <Skeleton className="h-4 w-56 max-w-full" />
      </td>
      <td className="hidden px-3 md:table-cell">
        <Skeleton className="h-4 w-24" />
      </td>
      <td className="px-3">
        <Skeleton className="ml-auto h-4 w-12" />
      </td>
      <td className="hidden px-3 lg:table-cell">
        <Skeleton className="h-4 w-24" />
      </td>
      <td className="hidden px-3 sm:table-cell">
        <Skeleton className="ml-auto h-4 w-16" />
      </td>
    </tr>
  ));
}
