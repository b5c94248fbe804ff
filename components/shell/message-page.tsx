import type { ReactNode } from "react";
import { Logo } from "./logo";

interface MessagePageProps {
  readonly code: string;
  readonly title: string;
  readonly children: ReactNode;
}

/** A page that only shows a message, when no other page can be shown. */
export function MessagePage({ code, title, children }: MessagePageProps) {
  return (
    <main id="main" tabIndex={-1} className="grid min-h-dvh place-items-center px-6 py-10 outline-none">
      <div className="flex max-w-md flex-col items-center gap-4 text-center">
        <Logo />
        <p className="tabular mt-4 font-medium text-muted text-sm">{code}</p>
        <h1 className="font-semibold text-2xl tracking-tight">{title}</h1>
        <div className="flex flex-col items-center gap-5 text-muted">{children}</div>
      </div>
    </main>
  );
}
