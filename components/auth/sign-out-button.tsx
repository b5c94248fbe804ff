"use client";

import { Button } from "@/components/ui/button";
import { useToast } from "@/components/ui/toast";
import { signOut } from "@/lib/client/session";

export function SignOutButton() {
  const toast = useToast();
  const leave = () =>
    signOut().catch(() =>
      toast({ title: "You are still signed in", detail: "The server cannot be reached.", tone: "bad" }),
    );
  return (
    <Button variant="ghost" size="sm" className="-ml-2.5" onClick={leave}>
      Sign out
    </Button>
  );
}
