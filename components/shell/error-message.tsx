import type { ReactNode } from "react";
import { MessagePage } from "./message-page";

interface ErrorMessageProps {
  readonly error: { readonly digest?: string };
  /** The way to try again. */
  readonly children: ReactNode;
}

/** What is shown instead of a page when not even its frame could be rendered. */
export function ErrorMessage({ error, children }: ErrorMessageProps) {
  return (
    <MessagePage code="500" title="Something went wrong">
      <p>The page could not be shown. It may work in a moment.</p>
      {error.digest ? <p className="text-xs">Reference {error.digest}</p> : null}
      {children}
    </MessagePage>
  );
}
