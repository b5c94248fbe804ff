"use client";

import { memo } from "react";
import { cn } from "@/components/ui/cn";
import type { OutputLine } from "@/lib/client/jobs/job-output";
import { parseTerminalLine } from "@/lib/client/jobs/terminal-text";

const STREAM_MARKS = { stdout: "", stderr: "err", log: "log" } as const;
const LEVEL_TONES = { debug: "text-muted", info: "", warn: "text-warn", error: "text-bad" } as const;

export function OutputLines({ lines, wrap }: { readonly lines: readonly OutputLine[]; readonly wrap: boolean }) {
  return lines.map((line, index) => (
    <Line
      key={line.key.replace("+", "")}
      line={line}
      wrap={wrap}
      opensAttempt={line.attemptNo !== lines[index - 1]?.attemptNo}
    />
  ));
}

interface LineProps {
  readonly line: OutputLine;
  readonly wrap: boolean;
  readonly opensAttempt: boolean;
}

const Line = memo(function Line({ line, wrap, opensAttempt }: LineProps) {
  return (
    <>
      {opensAttempt ? (
        <div className="my-1 flex items-center gap-3 px-4 font-sans text-2xs text-muted">
          Attempt {line.attemptNo}
          <span aria-hidden className="h-px flex-1 bg-line" />
        </div>
      ) : null}
      <div className={cn("flex min-h-5 gap-3 px-4 hover:bg-hover", line.stream === "stderr" && "bg-bad-soft/50")}>
        <span className="w-7 shrink-0 select-none text-right text-2xs text-muted leading-5">
          {STREAM_MARKS[line.stream]}
        </span>
        <span
          className={cn(
            "min-w-0",
            wrap ? "whitespace-pre-wrap break-words" : "whitespace-pre",
            line.level && LEVEL_TONES[line.level],
          )}
        >
          {line.level ? <span className="sr-only">{line.level}: </span> : null}
          {parseTerminalLine(line.text).map((span, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one line never change places
            <span key={index} className={span.hidden ? "hidden-mark" : span.className || undefined}>
              {span.text}
            </span>
          ))}
        </span>
      </div>
    </>
  );
});
