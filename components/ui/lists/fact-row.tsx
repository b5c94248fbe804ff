import type { ReactNode } from "react";
import { cn } from "../cn";
import { CopyButton } from "../copy-button";
import { Plain } from "../plain";

interface FactRowProps {
  readonly name: string;
  readonly children: ReactNode;
  readonly className?: string;
}

/** A line of a `dl` that is a grid of two columns: a name and its value. */
export function FactRow({ name, children, className }: FactRowProps) {
  return (
    <div className={cn("col-span-2 grid min-h-9 grid-cols-subgrid items-center px-4 py-1.5", className)}>
      <dt className="text-muted">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  );
}

/** An id or a key, with a button to copy it. */
export function CopiedCode({ text }: { readonly text: string }) {
  return (
    <span className="flex items-center">
      <code className="min-w-0 break-all font-mono text-xs">
        <Plain text={text} />
      </code>
      <CopyButton text={text} label="Copy" />
    </span>
  );
}
