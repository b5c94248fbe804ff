"use client";

import { X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Plain } from "@/components/ui/plain";

interface NameFilterProps {
  readonly name: string | null;
  readonly correlation: string | null;
  readonly onChange: (change: { readonly name?: string | null; readonly correlation?: string | null }) => void;
}

/** Filters events by a name, a prefix, or a chain. */
export function NameFilter({ name, correlation, onChange }: NameFilterProps) {
  const [text, setText] = useState(name ?? "");
  const [known, setKnown] = useState(name);
  if (name !== known) {
    setKnown(name);
    setText(name ?? "");
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange({ name: text.trim() || null });
  };
  return (
    <search aria-label="Filter events" className="flex flex-wrap items-center gap-2">
      <form onSubmit={submit} className="flex w-full gap-2 sm:w-auto">
        <input
          type="search"
          aria-label="Event name"
          placeholder="Name, or its beginning and *"
          maxLength={200}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
          className="field min-w-0 sm:w-72"
        />
        <Button type="submit">Filter</Button>
      </form>
      {correlation === null ? null : (
        <Button size="sm" className="max-w-full" onClick={() => onChange({ correlation: null })}>
          <span className="truncate">
            chain <Plain oneLine text={correlation} />
          </span>
          <X aria-label="Remove" className="size-3" />
        </Button>
      )}
    </search>
  );
}
