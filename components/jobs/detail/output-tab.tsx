"use client";

import { ArrowDownToLine, Download, type LucideIcon, ScrollText, WrapText } from "lucide-react";
import { parseAsInteger, useQueryState } from "nuqs";
import { type ComponentProps, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { cn } from "@/components/ui/cn";
import { FilterSelect } from "@/components/ui/forms/select";
import { Empty, ProblemPanel, Skeleton } from "@/components/ui/states";
import { useToast } from "@/components/ui/toast";
import { formatCount, plural } from "@/lib/client/format";
import { type OutputLine, useJobOutput, wholeOutput } from "@/lib/client/jobs/job-output";
import { useLive } from "@/lib/client/live/use-live";
import type { Attempt, Job } from "@/lib/contract";
import { isTerminal } from "@/lib/queue/states";
import { useTenant } from "../../shell/viewer";
import { OutputLines } from "./output-lines";

interface OutputTabProps {
  readonly job: Job;
  readonly attempts: readonly Attempt[];
}

const NEAR_END_PX = 40;

/** The job's output, live. Follows the end until the user scrolls away from it. */
export function OutputTab({ job, attempts }: OutputTabProps) {
  const { slug } = useTenant();
  const paused = useLive()?.state === "paused";
  const [attempt, setAttempt] = useQueryState("attempt", parseAsInteger);
  const [wrap, setWrap] = useState(true);
  const output = useJobOutput(slug, job.id, { attempt, live: !paused });
  const reread = output.retry;
  const running = !isTerminal(job.status);
  // A job that was retried prints again after its output had ended.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what matters is that the status or the attempt changed
  useEffect(() => reread(), [job.status, job.attempt_count, job.run_no, reread]);
  const { ref, follow, setFollow, onScroll } = useFollow(output.lines.length, running);
  return (
    <section aria-label="Output" className="panel overflow-hidden">
      <header className="flex min-h-11 flex-wrap items-center gap-2 border-line border-b px-3 py-1.5">
        <FilterSelect
          aria-label="Attempt"
          any="All attempts"
          options={attempts.map(({ attempt_no: number, status }) => [
            String(number),
            `Attempt ${number} · ${status.replace("_", " ")}`,
          ])}
          value={attempt ?? ""}
          onChoose={(chosen) => void setAttempt(chosen === "" ? null : Number(chosen))}
        />
        <span className="tabular min-w-20 flex-1 whitespace-nowrap text-muted text-xs">
          {plural(output.lines.length, "line")}
        </span>
        <span aria-hidden className="basis-full sm:hidden" />
        <Toggle icon={ArrowDownToLine} name="Follow" on={follow} onChange={setFollow} />
        <Toggle icon={WrapText} name="Wrap" on={wrap} onChange={setWrap} />
        <DownloadButton job={job} attempt={attempt} />
      </header>
      {output.droppedLines > 0 ? (
        <p className="border-line border-b bg-sunken px-4 py-1 text-muted text-xs">
          {formatCount(output.droppedLines)} earlier lines are not shown; download has them.
        </p>
      ) : null}
      {output.error && output.lines.length === 0 ? (
        <ProblemPanel error={output.error} onRetry={output.retry} />
      ) : output.lines.length === 0 ? (
        <NoOutput loading={output.loading} running={running} />
      ) : (
        <LinesBox ref={ref} lines={output.lines} wrap={wrap} onScroll={onScroll} />
      )}
    </section>
  );
}

interface LinesBoxProps extends Pick<ComponentProps<"section">, "ref" | "onScroll"> {
  readonly lines: readonly OutputLine[];
  readonly wrap: boolean;
}

function LinesBox({ lines, wrap, ...box }: LinesBoxProps) {
  return (
    <section
      {...box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label="Lines"
      className="h-[min(36rem,70dvh)] overflow-auto bg-sunken py-2 font-mono text-xs leading-5"
    >
      <OutputLines lines={lines} wrap={wrap} />
    </section>
  );
}

interface ToggleProps {
  readonly icon: LucideIcon;
  readonly name: string;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}

function Toggle({ icon: Icon, name, on, onChange }: ToggleProps) {
  return (
    <Button
      size="sm"
      variant="ghost"
      aria-pressed={on}
      className={cn(on && "text-accent")}
      onClick={() => onChange(!on)}
    >
      <Icon aria-hidden className="size-3.5" />
      {name}
    </Button>
  );
}

function useFollow(lineCount: number, running: boolean) {
  const ref = useRef<HTMLElement>(null);
  const [follow, setFollow] = useState(running);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what moves the end
  useLayoutEffect(() => {
    if (follow && ref.current) ref.current.scrollTop = ref.current.scrollHeight;
  }, [lineCount, follow]);
  const onScroll = () => {
    const box = ref.current;
    if (!box) return;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
    if (follow && !atEnd) setFollow(false);
  };
  return { ref, follow, setFollow, onScroll };
}

function NoOutput({ loading, running }: { readonly loading: boolean; readonly running: boolean }) {
  if (loading) {
    return (
      <div aria-busy className="flex h-48 flex-col gap-2 p-4">
        <Skeleton className="h-3 w-2/3" />
        <Skeleton className="h-3 w-1/2" />
        <Skeleton className="h-3 w-3/5" />
      </div>
    );
  }
  return (
    <Empty icon={ScrollText} title={running ? "Nothing printed yet" : "Nothing was printed"}>
      <p>{running ? "Lines appear here as the job prints them." : "The job ended without a line of output."}</p>
    </Empty>
  );
}

function DownloadButton({ job, attempt }: { readonly job: Job; readonly attempt: number | null }) {
  const { slug } = useTenant();
  const toast = useToast();
  const [busy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    try {
      const text = await wholeOutput(slug, job.id, attempt);
      const url = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = `${job.id}${attempt === null ? "" : `-${attempt}`}.log`;
      link.click();
      URL.revokeObjectURL(url);
    } catch {
      toast({ title: "The output could not be read", tone: "bad" });
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button size="sm" variant="ghost" busy={busy} onClick={save}>
      <Download aria-hidden className="size-3.5" />
      Download
    </Button>
  );
}
