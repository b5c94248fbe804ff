"use client";

import { X } from "lucide-react";
import { Link } from "@/components/ui/link";
import { Plain } from "@/components/ui/plain";
import type { Event } from "@/lib/contract";
import { useTenant } from "../shell/viewer";

/** The triggers that listened and did not match, each with the part of its condition that was not met. */
export function EventMisses({ misses }: { readonly misses: Event["misses"] }) {
  const { slug } = useTenant();
  if (misses.length === 0) return null;
  return (
    <ul aria-label="Triggers that did not match" className="flex flex-col gap-1.5 border-line border-t pt-2">
      {misses.map(({ trigger_id: id, trigger_label: label, reason, part, detail }) => (
        <li key={id} className="flex items-start gap-2 text-sm">
          <X aria-hidden className="mt-0.5 size-4 shrink-0 text-muted" />
          <span className="min-w-0 break-words">
            {label === null ? (
              <span className="text-muted">a deleted trigger</span>
            ) : (
              <Link href={`/t/${slug}/jobs/triggers/${id}`} className="hover:underline">
                <Plain text={label} />
              </Link>
            )}
            <span className="text-muted">{reason === "expired" ? " had expired" : " did not match: "}</span>
            {part === null ? null : (
              <code className="font-mono text-xs">
                <Plain text={part} />
              </code>
            )}
            {detail === null ? null : (
              <span className="block text-muted text-xs">
                <Plain text={detail} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
