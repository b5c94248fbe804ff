"use client";

import { X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useRef, useState } from "react";
import { cn } from "./cn";

export interface Toast {
  readonly title: string;
  readonly detail?: string;
  readonly tone?: "plain" | "bad";
}

const SHOWN_MS = 6000;
const MAX_SHOWN = 3;

const ToastContext = createContext<(toast: Toast) => void>(() => {});

/** Returns a function that shows a short notice in the corner. It is announced politely and disappears by itself. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

export function ToastProvider({ children }: { readonly children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly (Toast & { id: number })[]>([]);
  const lastId = useRef(0);
  const dismiss = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), []);
  const show = useCallback(
    (toast: Toast) => {
      lastId.current += 1;
      const id = lastId.current;
      setToasts((all) => {
        const others = all.filter((shown) => shown.title !== toast.title || shown.detail !== toast.detail);
        return [...others.slice(1 - MAX_SHOWN), { ...toast, id }];
      });
      setTimeout(() => dismiss(id), SHOWN_MS);
    },
    [dismiss],
  );
  const value = useMemo(() => show, [show]);
  return (
    <ToastContext value={value}>
      {children}
      <div
        role="status"
        aria-live="polite"
        className="pointer-events-none fixed inset-x-4 bottom-4 z-50 flex flex-col items-end gap-2"
      >
        {toasts.map((toast) => (
          <div
            key={toast.id}
            className={cn(
              "pointer-events-auto flex max-w-sm items-start gap-3 rounded-md border border-line bg-panel px-3.5 py-2.5 shadow-pop",
              toast.tone === "bad" && "border-bad",
            )}
          >
            <div className="min-w-0">
              <p className="font-medium text-sm">{toast.title}</p>
              {toast.detail ? <p className="text-muted text-xs">{toast.detail}</p> : null}
            </div>
            <button
              type="button"
              aria-label="Dismiss"
              onClick={() => dismiss(toast.id)}
              className="-mr-1 grid size-6 place-items-center rounded-sm text-muted hover:text-ink"
            >
              <X aria-hidden className="size-3.5" />
            </button>
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
