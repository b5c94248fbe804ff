"use client";

import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { LoginForm } from "@/components/auth/login-form";
import { Dialog, DialogBody } from "@/components/ui/dialog";
import { onSessionEnd } from "@/lib/client/http";

/** Asks the user to sign in again in place, so that typed input is kept. Another account loads another page. */
export function SessionEnded({ email }: { readonly email: string }) {
  const [ended, setEnded] = useState(false);
  const client = useQueryClient();
  useEffect(() => onSessionEnd(() => setEnded(true)), []);
  const signedIn = async (as: string) => {
    if (as.trim().toLowerCase() !== email.toLowerCase()) {
      window.location.assign("/");
      return;
    }
    setEnded(false);
    await client.invalidateQueries();
  };
  return (
    <Dialog
      title="Your session has ended"
      description="Sign in to continue on this page. Your input is kept."
      open={ended}
      onClose={() => setEnded(false)}
    >
      <DialogBody>
        <LoginForm email={email} onSignedIn={signedIn} />
      </DialogBody>
    </Dialog>
  );
}
