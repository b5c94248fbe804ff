"use client";

import { ErrorMessage } from "@/components/shell/error-message";
import { Button } from "@/components/ui/button";

interface ErrorPageProps {
  readonly error: Error & { digest?: string };
  readonly reset: () => void;
}

export default function ErrorPage({ error, reset }: ErrorPageProps) {
  return (
    <ErrorMessage error={error}>
      <Button variant="primary" onClick={reset}>
        Try again
      </Button>
    </ErrorMessage>
  );
}
