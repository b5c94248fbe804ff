"use client";

import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { Button } from "./button";
import { useToast } from "./toast";

/** Copies a text, and confirms it in place and to screen readers. */
export function CopyButton({
  text,
  label,
  caption,
}: {
  readonly text: string;
  readonly label: string;
  readonly caption?: string;
}) {
  const [copied, setCopied] = useState(false);
  const toast = useToast();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      toast({ title: "Copied" });
      setTimeout(() => setCopied(false), 1500);
    } catch {
      toast({ title: "Could not copy", tone: "bad" });
    }
  };
  const Icon = copied ? Check : Copy;
  return (
    <Button
      variant="ghost"
      size={caption ? "sm" : "icon"}
      aria-label={caption ? undefined : label}
      title={label}
      onClick={copy}
    >
      <Icon aria-hidden className="size-3.5" />
      {caption}
    </Button>
  );
}
