"use client";

import { MessagePage } from "@/components/shell/message-page";
import { Button } from "@/components/ui/button";

interface ErrorPageProps {
  readonly error: Error & { digest?: string };
  readonly reset: () => void;
}

export default function ErrorPage({ error, reset }: ErrorPageProps) {
  return (
    <MessagePage code="500" title="Something went wrong">
      <p>The page could not be shown. It may work in a moment.</p>
      {error.digest ? <p className="text-xs">Reference {error.digest}</p> : null}
      <Button variant="primary" onClick={reset}>
        Try again
      </Button>
    </MessagePage>
  );
}
