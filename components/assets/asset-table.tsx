"use client";

import { type Column, DataTable } from "@/components/ui/lists/data-table";
import { Plain } from "@/components/ui/plain";
import { Time } from "@/components/ui/time";
import { formatBytes } from "@/lib/client/format";
import type { Asset } from "@/lib/contract";

interface AssetTableProps {
  /** Undefined while the first answer is loading. */
  readonly assets: readonly Asset[] | undefined;
  /** Files that are no longer listed. They stay in place until the user asks for the newest. */
  readonly gone: ReadonlySet<string>;
  /** Names of the folders by id. */
  readonly names: ReadonlyMap<string, string>;
}

export function AssetTable({ assets, gone, names }: AssetTableProps) {
  return (
    <DataTable
      caption="Files"
      columns={[pathColumn(names), ...COLUMNS]}
      rows={assets}
      rowKey={({ id }) => id}
      rowClass="h-12 hover:bg-hover"
      rowAttributes={({ id }) => ({ className: gone.has(id) && "text-muted" })}
      loading={{ rows: 6, className: "h-12" }}
    />
  );
}

const pathColumn = (names: ReadonlyMap<string, string>): Column<Asset> => ({
  id: "path",
  head: "Path",
  className: "max-w-0",
  placeholder: ["h-4 w-56 max-w-full"],
  cell: ({ path, provider_id: provider }) => {
    const folder = names.get(provider);
    return (
      <>
        <p className="truncate text-sm" title={path}>
          <Plain oneLine text={path} />
        </p>
        <p className="truncate text-muted text-xs">{folder ? <Plain text={folder} /> : " "}</p>
      </>
    );
  },
});

const COLUMNS: readonly Column<Asset>[] = [
  {
    id: "type",
    head: "Media type",
    from: "md",
    width: "w-40",
    className: "truncate text-muted text-sm",
    placeholder: ["h-4 w-24"],
    cell: ({ media_type: type }) => type,
  },
  {
    id: "size",
    head: "Size",
    width: "w-24",
    align: "right",
    className: "whitespace-nowrap text-sm",
    placeholder: ["h-4 w-12"],
    cell: ({ size }) => formatBytes(size),
  },
  {
    id: "sha256",
    head: "SHA-256",
    from: "lg",
    width: "w-36",
    className: "font-mono text-muted text-xs",
    placeholder: ["h-4 w-24"],
    cell: ({ sha256 }) => <span title={sha256}>{sha256.slice(0, 12)}…</span>,
  },
  {
    id: "modified",
    head: "Modified",
    from: "sm",
    width: "w-28",
    align: "right",
    className: "text-muted text-sm",
    placeholder: ["h-4 w-16"],
    cell: ({ modified_at: at }) => <Time value={at} />,
  },
];
