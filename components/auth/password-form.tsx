"use client";

import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { Field } from "@/components/ui/field";
import { ApiError, api } from "@/lib/client/http";

const MIN = 12;
const MAX = 256;

interface Failure {
  readonly current: string | null;
  readonly next: string | null;
  readonly general: string | null;
}

const NONE: Failure = { current: null, next: null, general: null };

/** Changes the password: current and new password, and their problems. Leads to the start page afterwards. */
export function PasswordForm({ email }: { readonly email: string }) {
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<Failure>(NONE);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (busy) return;
    const fields = new FormData(event.currentTarget);
    setBusy(true);
    setFailed(NONE);
    try {
      const body = { current_password: String(fields.get("current")), new_password: String(fields.get("next")) };
      await api("/me/password", { method: "POST", body });
      window.location.assign("/");
    } catch (error) {
      setFailed(describe(error));
      setBusy(false);
    }
  };
  return (
    <form onSubmit={submit} method="post" className="flex flex-col gap-4">
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <Field label="Current password" required error={failed.current}>
        {(control) => (
          <input
            {...control}
            name="current"
            type="password"
            autoComplete="current-password"
            required
            className="field"
          />
        )}
      </Field>
      <Field
        label="New password"
        required
        hint={`At least ${MIN} characters. Several unrelated words are easy to remember and hard to guess.`}
        error={failed.next}
      >
        {(control) => (
          <input
            {...control}
            name="next"
            type="password"
            autoComplete="new-password"
            required
            minLength={MIN}
            maxLength={MAX}
            className="field"
          />
        )}
      </Field>
      <p role="alert" className="min-h-5 text-bad text-sm">
        {failed.general}
      </p>
      <Button type="submit" variant="primary" busy={busy} className="h-9">
        {busy ? "Changing…" : "Change password"}
      </Button>
    </form>
  );
}

function describe(error: unknown): Failure {
  if (!(error instanceof ApiError)) return { ...NONE, general: "It did not work. Try again." };
  const of = (pointer: string) => {
    const problem = error.errors.find((one) => one.pointer === pointer);
    return problem ? `It ${problem.detail}.` : null;
  };
  const current = of("/current_password");
  const next = of("/new_password");
  if (current || next) return { current, next, general: null };
  const wait = error.retryAfterSeconds === null ? "" : ` Try again in ${error.retryAfterSeconds} s.`;
  return { ...NONE, general: `${error.detail || error.title}${wait}` };
}
