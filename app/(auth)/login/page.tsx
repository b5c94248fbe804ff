import type { Metadata } from "next";
import { redirect } from "next/navigation";
import { SignInPage } from "@/components/auth/sign-in-page";
import { currentViewer } from "@/lib/api/page";
import { safePathOf } from "@/lib/text/safe-path";

export const metadata: Metadata = { title: "Sign in" };

interface LoginProps {
  readonly searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export default async function LoginPage({ searchParams }: LoginProps) {
  const { callbackUrl } = await searchParams;
  if (await currentViewer()) redirect(safePathOf([callbackUrl ?? []].flat()));
  return (
    <section className="panel flex flex-col gap-5 p-6">
      <h1 className="font-semibold text-xl tracking-tight">Sign in</h1>
      <SignInPage />
    </section>
  );
}
