"use client";

import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Field } from "@/components/ui/field";
import { formatDuration } from "@/lib/client/format";
import { type SignIn, signIn } from "@/lib/client/session";

interface LoginFormProps {
  readonly email?: string;
  readonly onSignedIn: (email: string) => void | Promise<void>;
}

/** The login form. Every failure has the same message. */
export function LoginForm({ email = "", onSignedIn }: LoginFormProps) {
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<SignIn | null>(null);
  const [wait, setWait] = useCountdown();
  const password = useRef<HTMLInputElement>(null);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (busy || wait > 0) return;
    const fields = new FormData(event.currentTarget);
    const as = String(fields.get("email"));
    setBusy(true);
    const result = await signIn(as, String(fields.get("password")));
    setAnswer(result);
    if (result.kind === "signed-in") return onSignedIn(as);
    setBusy(false);
    if (result.kind === "throttled") setWait(result.seconds);
    password.current?.select();
  };
  const message = describe(answer, wait);
  return (
    <form onSubmit={submit} method="post" className="flex flex-col gap-4">
      <Field label="Email" required>
        {(control) => (
          <input
            {...control}
            name="email"
            type="email"
            autoComplete="username"
            required
            defaultValue={email}
            className="field"
          />
        )}
      </Field>
      <Field label="Password" required>
        {(control) => (
          <input
            {...control}
            ref={password}
            name="password"
            type="password"
            autoComplete="current-password"
            required
            maxLength={1024}
            className="field"
          />
        )}
      </Field>
      <p role="alert" className="min-h-5 text-bad text-sm">
        {message}
      </p>
      <Button
        type="submit"
        variant="primary"
        busy={busy}
        reason={wait > 0 ? "Too many attempts" : null}
        className="h-9"
      >
        {busy ? "Signing in…" : "Sign in"}
      </Button>
    </form>
  );
}

function describe(answer: SignIn | null, wait: number): string {
  if (answer?.kind === "refused") return "The email or the password is wrong.";
  if (answer?.kind === "failed") return answer.detail;
  if (answer?.kind === "throttled") {
    return wait > 0 ? `Too many attempts. Try again in ${formatDuration(wait * 1000)}.` : "You can try again now.";
  }
  return "";
}

function useCountdown() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    if (seconds <= 0) return;
    const timer = setTimeout(() => setSeconds(seconds - 1), 1000);
    return () => clearTimeout(timer);
  }, [seconds]);
  return [seconds, setSeconds] as const;
}
