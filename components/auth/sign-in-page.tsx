"use client";

import { LoginForm } from "./login-form";

/** The login on a page of its own: a full page load follows, so nothing of an earlier session is kept. */
export function SignInPage({ callbackUrl }: { readonly callbackUrl: string }) {
  return <LoginForm onSignedIn={() => window.location.assign(callbackUrl)} />;
}
