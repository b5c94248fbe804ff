"use client";

import { DropdownMenu } from "radix-ui";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn";
import { useDialogElement } from "./dialog";

interface MenuProps {
  readonly trigger: ReactNode;
  readonly children: ReactNode;
  readonly align?: "start" | "end";
  readonly label?: string;
}

/** A menu that opens from a button. Not modal: it neither locks scrolling nor hides the page. */
export function Menu({ trigger, children, align = "end", label }: MenuProps) {
  const dialog = useDialogElement();
  // Inside the page's main part, because users who navigate by landmarks skip everything outside them.
  const container = dialog ?? (typeof document === "undefined" ? null : document.getElementById("main"));
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal container={container}>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          aria-label={label}
          className="z-40 max-h-[min(24rem,80dvh)] min-w-48 overflow-y-auto rounded-md border border-line bg-panel p-1 shadow-pop"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

const ITEM =
  "flex min-h-8 w-full cursor-pointer select-none items-center gap-2 rounded-sm px-2 py-1 text-sm outline-none data-[highlighted]:bg-hover data-[disabled]:cursor-not-allowed data-[disabled]:opacity-55";

export function MenuItem({ className, ...rest }: ComponentProps<typeof DropdownMenu.Item>) {
  return <DropdownMenu.Item {...rest} className={cn(ITEM, className)} />;
}

export function MenuLabel({ children }: { readonly children: ReactNode }) {
  return <DropdownMenu.Label className="px-2 pt-1.5 pb-1 text-muted text-xs">{children}</DropdownMenu.Label>;
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}

export function MenuCheck({ children, ...rest }: ComponentProps<typeof DropdownMenu.CheckboxItem>) {
  return (
    <DropdownMenu.CheckboxItem {...rest} className={ITEM}>
      <span aria-hidden className="grid size-4 place-items-center">
        <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
      </span>
      {children}
    </DropdownMenu.CheckboxItem>
  );
}
