/** The outcome of a sign-in. */
export type SignIn =
  | { readonly kind: "signed-in" }
  | { readonly kind: "refused" }
  | { readonly kind: "throttled"; readonly seconds: number }
  | { readonly kind: "failed"; readonly detail: string };

/** Signs in with email and password; the session is set as a cookie. */
export async function signIn(email: string, password: string): Promise<SignIn> {
  try {
    const response = await post("/api/auth/callback/credentials", { email, password, callbackUrl: "/" });
    if (response.status === 429)
      return { kind: "throttled", seconds: Number(response.headers.get("retry-after")) || 60 };
    if (response.status === 401) return { kind: "refused" };
    const answer = (await response.json()) as { url?: string; detail?: string };
    if (!response.ok) return { kind: "failed", detail: answer.detail ?? `The server answered ${response.status}.` };
    return answer.url?.includes("error=") ? { kind: "refused" } : { kind: "signed-in" };
  } catch {
    return { kind: "failed", detail: "The server cannot be reached. Check the connection and try again." };
  }
}

/** Signs out and loads the login page, so no data of the tenant remains in this tab's memory. */
export async function signOut(): Promise<void> {
  await post("/api/auth/signout", { callbackUrl: "/login" });
  window.location.assign("/login");
}

async function post(path: string, fields: Record<string, string>): Promise<Response> {
  const { csrfToken } = (await (await fetch("/api/auth/csrf", { cache: "no-store" })).json()) as { csrfToken: string };
  return fetch(path, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ ...fields, csrfToken, json: "true" }),
  });
}
