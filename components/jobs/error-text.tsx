"use client";

import { cn } from "@/components/ui/cn";
import { FoldMark } from "@/components/ui/fold-mark";
import { Plain } from "@/components/ui/plain";
import { ScrollPre } from "@/components/ui/scroll-pre";

/** Returns the message of an error, without the stack trace that follows it. */
export function messageBeforeTrace(text: string): string {
  const trace = text.search(/\n[ \t]{1,100}at /u);
  return (trace === -1 ? text : text.slice(0, trace)).trim();
}

interface ErrorProps {
  readonly type: string | null;
  readonly text: string;
}

/** An expandable error with a fixed height of one line. For errors that arrive while the page is open. */
export function FoldedError({ type, text, className }: ErrorProps & { readonly className: string }) {
  return (
    <details>
      <summary className={cn(className, "flex cursor-pointer items-center gap-1.5 text-xs")}>
        <FoldMark />
        <span className="shrink-0 font-medium text-bad">{(type ?? "error").replaceAll("_", " ")}</span>
        <span className="truncate font-mono">
          <Plain oneLine text={messageBeforeTrace(text)} />
        </span>
      </summary>
      <div className="px-4 pb-2.5">
        <ErrorText type={type} text={text} />
      </div>
    </details>
  );
}

/** An error: its class, its message, and its expandable stack trace. */
export function ErrorText({ type, text }: ErrorProps) {
  const message = messageBeforeTrace(text);
  const trace = text.trim().slice(message.length).replace(/^\n/u, "");
  return (
    <>
      <p className="font-medium text-bad text-xs">{(type ?? "error").replaceAll("_", " ")}</p>
      <ScrollPre className="max-h-40 overflow-y-auto whitespace-pre-wrap break-words font-mono text-xs">
        <Plain text={message} />
      </ScrollPre>
      {trace ? (
        <details className="mt-1">
          <summary className="inline-flex min-h-6 items-center gap-1 text-muted text-xs">
            <FoldMark />
            Trace
          </summary>
          <ScrollPre className="max-h-64 overflow-auto font-mono text-muted text-xs">
            <Plain text={trace} />
          </ScrollPre>
        </details>
      ) : null}
    </>
  );
}
