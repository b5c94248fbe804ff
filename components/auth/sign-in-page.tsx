"use client";

import { isSafePath } from "@/lib/text/safe-path";
import { LoginForm } from "./login-form";

/**
 * The login on a page of its own: a full page load follows, so nothing of an earlier session is kept. Where it leads to is
 * read from the address, because the page is rendered once for everybody.
 */
export function SignInPage() {
  return <LoginForm onSignedIn={() => window.location.assign(signInTarget(window.location.search))} />;
}

function signInTarget(search: string): string {
  const [target = "/", ...more] = new URLSearchParams(search).getAll("callbackUrl");
  return more.length === 0 && isSafePath(target) ? target : "/";
}
