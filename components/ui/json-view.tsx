"use client";

import { useState } from "react";
import { Button } from "./button";
import { cn } from "./cn";
import { CopyButton } from "./copy-button";
import { Plain } from "./plain";
import { ScrollPre } from "./scroll-pre";

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/gu;
/** Longer texts are not colored, because that would slow the page down. */
const COLOURED_LENGTH = 100_000;

interface JsonViewProps {
  readonly title: string;
  readonly value: unknown;
  readonly empty: string;
  /** For example a height, for a value that arrives while the page is open. */
  readonly className?: string | undefined;
}

/** A JSON value, formatted and colored, or as one raw line. */
export function JsonView({ title, value, empty, className }: JsonViewProps) {
  const [raw, setRaw] = useState(false);
  const text = JSON.stringify(value, null, raw ? undefined : 2) ?? "null";
  return (
    <section aria-label={title} className={cn("panel flex min-w-0 flex-col overflow-hidden", className)}>
      <header className="flex h-10 shrink-0 items-center gap-1 border-line border-b pr-2 pl-4">
        <h2 className="flex-1 font-medium text-sm">{title}</h2>
        {value === null || value === undefined ? null : (
          <>
            <Button variant="ghost" size="sm" aria-pressed={raw} onClick={() => setRaw(!raw)}>
              Raw
            </Button>
            <CopyButton text={text} label={`Copy ${title.toLowerCase()}`} />
          </>
        )}
      </header>
      {value === null || value === undefined ? (
        <p className="px-4 py-6 text-muted text-sm">{empty}</p>
      ) : (
        <ScrollPre className="max-h-[32rem] overflow-auto whitespace-pre-wrap break-words px-4 py-3 font-mono text-xs">
          {raw || text.length > COLOURED_LENGTH ? <Plain text={text} /> : <Coloured text={text} />}
        </ScrollPre>
      )}
    </section>
  );
}

function Coloured({ text }: { readonly text: string }) {
  const parts: { text: string; className: string }[] = [];
  let from = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, quoted, colon, word] = match;
    if (match.index > from) parts.push({ text: text.slice(from, match.index), className: "text-muted" });
    const className = quoted ? (colon ? "text-ink" : "text-ok") : word ? "text-block" : "text-info";
    parts.push({ text: whole, className });
    from = match.index + whole.length;
  }
  parts.push({ text: text.slice(from), className: "text-muted" });
  return parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never change places
    <span key={index} className={part.className}>
      <Plain text={part.text} />
    </span>
  ));
}
