"use client";

import { GitMerge } from "lucide-react";
import { Plain } from "@/components/ui/plain";
import type { Clash } from "@/lib/client/triggers/trigger-form";

const HEAD = "h-8 px-4 text-left font-medium text-muted text-xs";

/**
 * Changes that another user has saved in the meantime. The user's own edits stay in the form; fields without edits take
 * the saved values.
 */
export function ConflictPanel({ clashes }: { readonly clashes: readonly Clash[] }) {
  if (clashes.length === 0) return null;
  return (
    <section role="alert" aria-label="Changed elsewhere" className="panel overflow-hidden border-warn">
      <p className="flex gap-2 bg-warn-soft px-4 py-2.5 text-sm text-warn">
        <GitMerge aria-hidden className="mt-0.5 size-4 shrink-0" />
        This trigger was saved elsewhere in the meantime. Your changes are kept: review what changed, then save again.
      </p>
      <div className="overflow-x-auto">
        <table className="w-full text-sm">
          <thead>
            <tr>
              {["Field", "Was", "Theirs", "In the form now"].map((name) => (
                <th key={name} scope="col" className={HEAD}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {clashes.map(({ name, before, theirs, mine }) => (
              <tr key={name} className="border-line border-t align-top">
                <th scope="row" className="px-4 py-1.5 text-left font-medium">
                  {name.replaceAll("_", " ")}
                </th>
                <Value text={before} />
                <Value text={theirs} />
                <td className="max-w-60 whitespace-pre-wrap break-words px-4 py-1.5">
                  {mine === null ? (
                    <span className="text-muted">theirs</span>
                  ) : (
                    <>
                      <Plain text={mine || "–"} /> <span className="text-muted">(yours)</span>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Value({ text }: { readonly text: string }) {
  return (
    <td className="max-w-60 whitespace-pre-wrap break-words px-4 py-1.5 text-muted">
      <Plain text={text || "–"} />
    </td>
  );
}
