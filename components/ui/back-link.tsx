import { ArrowLeft } from "lucide-react";
import { cn } from "./cn";
import { Link } from "./link";

interface BackLinkProps {
  readonly href: string;
  /** The name of the list. */
  readonly children: string;
  readonly className?: string;
}

/** The link above a page that leads back to its list. */
export function BackLink({ href, children, className }: BackLinkProps) {
  return (
    <Link
      href={href}
      className={cn("inline-flex min-h-6 items-center gap-1.5 text-muted text-sm hover:text-ink", className)}
    >
      <ArrowLeft aria-hidden className="size-3.5" />
      {children}
    </Link>
  );
}
