"use client";

import { type FormEvent, useState } from "react";
import { Button } from "@/components/ui/button";
import { ApiError, api } from "@/lib/client/http";
import { PasswordField } from "./password-field";

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
  const { busy, failed, send } = usePasswordChange();
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const fields = new FormData(event.currentTarget);
    void send({ current_password: String(fields.get("current")), new_password: String(fields.get("next")) });
  };
  return (
    <form onSubmit={submit} method="post" className="flex flex-col gap-4">
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <PasswordField label="Current password" error={failed.current} name="current" autoComplete="current-password" />
      <PasswordField
        label="New password"
        hint={`At least ${MIN} characters. Several unrelated words are easy to remember and hard to guess.`}
        error={failed.next}
        name="next"
        autoComplete="new-password"
        minLength={MIN}
        maxLength={MAX}
      />
      <p role="alert" className="min-h-5 text-bad text-sm">
        {failed.general}
      </p>
      <Button type="submit" variant="primary" busy={busy} className="h-9">
        {busy ? "Changing…" : "Change password"}
      </Button>
    </form>
  );
}

function usePasswordChange() {
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<Failure>(NONE);
  const send = async (body: { readonly current_password: string; readonly new_password: string }) => {
    if (busy) return;
    setBusy(true);
    setFailed(NONE);
    try {
      await api("/me/password", { method: "POST", body });
      window.location.assign("/");
    } catch (error) {
      setFailed(describe(error));
      setBusy(false);
    }
  };
  return { busy, failed, send };
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
