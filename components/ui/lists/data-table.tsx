/*
 * The building blocks of lists: a table that leaves out columns on narrow screens, its bar, panel and pager. The bar
 * has a fixed height, so nothing below it moves when new rows arrive or a refresh fails. A failed refresh keeps the
 * rows.
 *
 * Start with `DataTable` below, then `list-panel.tsx` and `pager.tsx`.
 */

"use client";

import type { ReactNode } from "react";
import { cn } from "../cn";
import { Skeleton } from "../states";

const SHOWN_FROM = {
  sm: "hidden sm:table-cell",
  md: "hidden md:table-cell",
  lg: "hidden lg:table-cell",
  xl: "hidden xl:table-cell",
} as const;

export interface Column<T> {
  readonly id: string;
  readonly head: ReactNode;
  /** True if only screen readers get the head. */
  readonly headHidden?: boolean;
  readonly cell: (row: T) => ReactNode;
  /** Classes of the head's cell, for example its width. */
  readonly width?: string;
  readonly align?: "right";
  /** The window width from which the column is shown; omitted: always. */
  readonly from?: keyof typeof SHOWN_FROM;
  /** Classes of the cells below the head. */
  readonly className?: string;
  readonly sorted?: "ascending" | "descending";
  /** Classes of the placeholders in this column while the rows are loading. */
  readonly placeholder?: readonly string[];
}

type RowAttributes = { readonly className?: string | false } & { readonly [name: `data-${string}`]: string };

interface DataTableProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  /** Undefined while the first answer is loading. */
  readonly rows: readonly T[] | undefined;
  readonly rowKey: (row: T) => string | number;
  /** Classes of every row. */
  readonly rowClass?: string;
  readonly rowAttributes?: (row: T) => RowAttributes;
  /** The placeholders while the rows are loading: their number, and the classes of their rows. */
  readonly loading?: { readonly rows: number; readonly className: string };
  readonly busy?: boolean;
  readonly className?: string;
  readonly headClass?: string;
}

/** A table whose columns are declared as data. */
export function DataTable<T>(props: DataTableProps<T>) {
  const { caption, columns, rows, rowKey, rowClass, rowAttributes, loading, className, headClass } = props;
  return (
    <table aria-busy={props.busy ?? rows === undefined} className={cn("w-full", className)}>
      <caption className="sr-only">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th
              key={column.id}
              scope="col"
              aria-sort={column.sorted}
              className={cn(
                "h-9 px-3 text-left font-medium text-muted text-xs sm:first:pl-4",
                headClass,
                layoutOf(column),
                column.width,
              )}
            >
              {column.headHidden ? <span className="sr-only">{column.head}</span> : column.head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows?.map((row) => {
          const { className: ownClass, ...attributes }: RowAttributes = rowAttributes?.(row) ?? {};
          return (
            <tr key={rowKey(row)} {...attributes} className={cn("border-line border-t", rowClass, ownClass)}>
              {columns.map((column) => (
                <td key={column.id} className={cellClass(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          );
        })}
        {rows === undefined && loading ? <Placeholders columns={columns} {...loading} /> : null}
      </tbody>
    </table>
  );
}

const layoutOf = <T,>({ from, align }: Column<T>) => [from && SHOWN_FROM[from], align === "right" && "text-right"];

const cellClass = <T,>(column: Column<T>) => cn("px-3 sm:first:pl-4", layoutOf(column), column.className);

interface PlaceholdersProps<T> {
  readonly columns: readonly Column<T>[];
  readonly rows: number;
  readonly className: string;
}

/** Rows of their final height: a placeholder in each column that declares one, or one across all columns. */
function Placeholders<T>({ columns, rows, className }: PlaceholdersProps<T>) {
  const declared = columns.some(({ placeholder }) => placeholder);
  return Array.from({ length: rows }, (_, row) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: placeholders are all alike
    <tr key={row} className={cn("border-line border-t", className)}>
      {declared ? (
        columns.map((column) => (
          <td key={column.id} className={cellClass(column)}>
            {column.placeholder?.map((shape) => (
              <Skeleton key={shape} className={cn(shape, column.align === "right" && "ml-auto")} />
            ))}
          </td>
        ))
      ) : (
        <td colSpan={columns.length} className="px-3 sm:pl-4">
          <Skeleton className="h-4 w-56 max-w-full" />
        </td>
      )}
    </tr>
  ));
}
