/*
 * Signing in, signing out, and changing a password. A wrong password and an unknown account get the same message. When
 * the server throttles sign-ins, the form waits as long as the server asks. After its sign-in, the login page follows
 * only a path of this origin, by a full page load.
 *
 * Start with `LoginForm` below. `sign-in-page.tsx` is the login page, `password-form.tsx` changes a password, and
 * `components/shell/session-ended.tsx` shows the login form in a dialog.
 */

"use client";

import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button } from "@/components/ui/button";
import { Field } from "@/components/ui/forms/field";
import { formatDuration } from "@/lib/client/format";
import { type SignIn, signIn } from "@/lib/client/session";
import { PasswordField } from "./password-field";

interface LoginFormProps {
  readonly email?: string;
  readonly onSignedIn: (email: string) => void | Promise<void>;
}

/** The login form. A wrong password and an unknown account get the same message. */
export function LoginForm({ email = "", onSignedIn }: LoginFormProps) {
  const password = useRef<HTMLInputElement>(null);
  const { busy, answer, wait, send } = useSignIn(onSignedIn);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    const refused = await send(String(fields.get("email")), String(fields.get("password")));
    if (refused) password.current?.select();
  };
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
      <PasswordField label="Password" ref={password} name="password" autoComplete="current-password" maxLength={1024} />
      <p role="alert" className="min-h-5 text-bad text-sm">
        {describe(answer, wait)}
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

/** Signs in, one request at a time, and waits as long as the server asks. */
function useSignIn(onSignedIn: LoginFormProps["onSignedIn"]) {
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<SignIn | null>(null);
  const [wait, setWait] = useCountdown();
  /** Resolves to true if the user can try again. */
  const send = async (email: string, password: string): Promise<boolean> => {
    if (busy || wait > 0) return false;
    setBusy(true);
    const result = await signIn(email, password);
    setAnswer(result);
    if (result.kind === "signed-in") {
      await onSignedIn(email);
      return false;
    }
    setBusy(false);
    if (result.kind === "throttled") setWait(result.seconds);
    return true;
  };
  return { busy, answer, wait, send };
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
