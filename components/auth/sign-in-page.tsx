"use client";

import { safePathOf } from "@/lib/text/safe-path";
import { LoginForm } from "./login-form";

/**
 * The login on a page of its own. A full page load follows, so that nothing of an earlier session remains. The target
 * is read from the browser's address, because the server renders this page once for all visitors.
 */
export function SignInPage() {
  return <LoginForm onSignedIn={() => window.location.assign(signInTarget())} />;
}

const signInTarget = () => safePathOf(new URLSearchParams(window.location.search).getAll("callbackUrl"));
