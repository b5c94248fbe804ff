import type { ReactNode } from "react";

interface PageHeaderProps {
  readonly title: string;
  /** What the page shows, in one sentence. */
  readonly about: string;
  /** The actions of the page. */
  readonly children?: ReactNode;
}

/** The heading of a page, what the page is about, and its actions. */
export function PageHeader({ title, about, children }: PageHeaderProps) {
  return (
    <header className="flex flex-wrap items-center gap-3">
      <div className="min-w-0 flex-1 basis-56">
        <h1 className="font-semibold text-xl tracking-tight">{title}</h1>
        <p className="text-muted text-sm">{about}</p>
      </div>
      {children}
    </header>
  );
}
