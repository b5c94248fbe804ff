import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { PasswordForm } from "@/components/auth/password-form";
import { currentViewer } from "@/lib/api/page";
import { loginPath } from "@/lib/auth/login-path";

export const metadata: Metadata = { title: "Change password" };

/** The page to change a password. A user with a one-time password is sent here first. */
export default async function PasswordPage() {
  const viewer = await currentViewer();
  if (!viewer) redirect(loginPath("/account/password"));
  const { email, mustChangePassword } = viewer.principal.user;
  return (
    <section className="panel flex flex-col gap-5 p-6">
      <div className="flex flex-col gap-1">
        <h1 className="font-semibold text-xl tracking-tight">Change password</h1>
        <p className="text-muted text-sm">
          {mustChangePassword
            ? "You signed in with a one-time password. Choose your own to continue."
            : "Your sessions on other devices end with the change."}
        </p>
      </div>
      <PasswordForm email={email} />
    </section>
  );
}
