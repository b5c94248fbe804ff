"use client";

import { Popover } from "radix-ui";
import { type ComponentProps, type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { cn } from "../cn";
import { useDialogElement } from "../dialog";

export interface Suggestion {
  readonly value: string;
  /** What the value stands for, in a few words. */
  readonly about?: string;
}

interface ComboboxProps extends Omit<ComponentProps<"input">, "list" | "onChange" | "ref" | "role" | "value"> {
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly suggestions: readonly Suggestion[];
}

const MOST_SHOWN = 50;

/**
 * A text input with suggestions. While the user types, it lists the suggestions that contain the text. Arrow down or up
 * opens the list without typing, with all suggestions if the input is empty or has one of them. Any other text is
 * allowed as well.
 */
export function Combobox({ value, onText, suggestions, className, ...input }: ComboboxProps) {
  const id = useId();
  const ref = useRef<HTMLInputElement>(null);
  const { shown, active, move, narrow, close } = useSuggestions(value, suggestions);
  const open = shown.length > 0;
  const choose = ({ value: chosen }: Suggestion) => {
    onText(chosen);
    close();
    // Choosing fires no input event. Fire one, so that the dialog around this field sees unsaved input.
    ref.current?.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = shown[active];
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && chosen) choose(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Popover.Root open={open} onOpenChange={close}>
      <Popover.Anchor asChild>
        <input
          {...input}
          ref={ref}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={open}
          aria-controls={open ? id : undefined}
          aria-activedescendant={open && active >= 0 ? `${id}-${active}` : undefined}
          autoComplete="off"
          value={value}
          onChange={(event) => {
            onText(event.target.value);
            narrow();
          }}
          onKeyDown={onKeyDown}
          onBlur={close}
          className={cn("field", className)}
        />
      </Popover.Anchor>
      <SuggestionList id={id} input={ref} shown={shown} active={active} onChoose={choose} />
    </Popover.Root>
  );
}

/** The suggestions that are shown, and the one that Enter chooses; -1 if none. */
function useSuggestions(value: string, suggestions: readonly Suggestion[]) {
  const [which, setWhich] = useState<"none" | "matching" | "all">("none");
  const [active, setActive] = useState(-1);
  const isKnown = suggestions.some((one) => one.value === value);
  const wanted = value.trim().toLowerCase();
  const matching = suggestions.filter((one) => one.value.toLowerCase().includes(wanted));
  const listed = { none: [], matching: isKnown && matching.length === 1 ? [] : matching, all: suggestions }[which];
  const shown = listed.slice(0, MOST_SHOWN);
  const show = (what: typeof which, at: number) => {
    setWhich(what);
    setActive(at);
  };
  return {
    shown,
    active,
    move: (step: 1 | -1) => {
      if (shown.length === 0) show(isKnown || wanted === "" ? "all" : "matching", 0);
      else setActive((active + step + shown.length) % shown.length);
    },
    narrow: () => show("matching", -1),
    close: () => show("none", -1),
  };
}

interface SuggestionListProps {
  readonly id: string;
  readonly input: { readonly current: HTMLInputElement | null };
  readonly shown: readonly Suggestion[];
  readonly active: number;
  readonly onChoose: (suggestion: Suggestion) => void;
}

function SuggestionList({ id, input, shown, active, onChoose }: SuggestionListProps) {
  const dialog = useDialogElement();
  const container = dialog ?? (typeof document === "undefined" ? null : document.getElementById("main"));
  useEffect(() => document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: "nearest" }), [id, active]);
  return (
    <Popover.Portal container={container}>
      <Popover.Content
        id={id}
        role="listbox"
        aria-label="Suggestions"
        align="start"
        sideOffset={4}
        // Keep the focus in the input, because the list closes when the input loses it.
        onPointerDown={(event) => event.preventDefault()}
        onOpenAutoFocus={(event) => event.preventDefault()}
        onCloseAutoFocus={(event) => event.preventDefault()}
        onInteractOutside={(event) => event.target === input.current && event.preventDefault()}
        className="z-40 max-h-[min(16rem,50dvh)] w-(--radix-popover-trigger-width) overflow-y-auto rounded-md border border-line bg-panel p-1 shadow-pop"
      >
        {shown.map((suggestion, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the input chooses the active option
          <div
            key={suggestion.value}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => onChoose(suggestion)}
            className={cn(
              "flex min-h-8 cursor-pointer select-none flex-col justify-center rounded-sm px-2 py-1 text-sm hover:bg-hover",
              index === active && "bg-hover",
            )}
          >
            <span className="break-words">{suggestion.value}</span>
            {suggestion.about ? <span className="truncate text-muted text-xs">{suggestion.about}</span> : null}
          </div>
        ))}
      </Popover.Content>
    </Popover.Portal>
  );
}
