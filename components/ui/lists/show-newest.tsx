"use client";

import { ArrowUp } from "lucide-react";
import { cn } from "../cn";

interface ShowNewestProps {
  /** The noun for a row, in the singular. */
  readonly noun: string;
  /** Its plural, if not formed with an s. */
  readonly nouns?: string;
  /** Number of new rows that are not shown yet. */
  readonly waiting: number;
  readonly onShow: () => void;
  readonly className?: string;
}

/**
 * The button that shows new rows; renders nothing while there are none. Its container must have the same height without
 * it.
 */
export function ShowNewest({ noun, nouns = `${noun}s`, waiting, onShow, className }: ShowNewestProps) {
  if (waiting === 0) return null;
  return (
    <button
      type="button"
      onClick={onShow}
      className={cn(
        "flex h-6.5 shrink-0 items-center gap-1.5 rounded-full bg-accent-soft px-3 font-medium text-accent text-xs hover:underline",
        className,
      )}
    >
      <ArrowUp aria-hidden className="size-3.5" />
      {/* Fixed width for any number, so that the button does not move with each new row. */}
      <span
        data-widest={`99 new ${nouns} – show`}
        className="grid text-left before:invisible before:col-start-1 before:row-start-1 before:content-[attr(data-widest)]"
      >
        <span className="col-start-1 row-start-1">{`${waiting} new ${waiting === 1 ? noun : nouns} – show`}</span>
      </span>
    </button>
  );
}
