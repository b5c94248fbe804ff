"use client";

import { Button } from "@/components/ui/button";
import { Dialog, DialogActions, DialogBody } from "@/components/ui/dialog";
import { Plain } from "@/components/ui/plain";
import { useToast } from "@/components/ui/toast";
import { useDeleteArtifact } from "@/lib/client/jobs/jobs";
import type { Artifact } from "@/lib/contract";
import { useTenant } from "../../shell/viewer";

interface DeleteArtifactProps {
  readonly artifact: Artifact;
  readonly onClose: () => void;
}

/** Asks before an artifact is deleted. */
export function DeleteArtifact({ artifact, onClose }: DeleteArtifactProps) {
  const { slug } = useTenant();
  const toast = useToast();
  const remove = useDeleteArtifact(slug);
  const confirm = () =>
    remove.mutate(artifact, {
      onSuccess: () => toast({ title: "Artifact deleted", detail: artifact.name }),
      onError: ({ message }) => toast({ title: "Artifact not deleted", detail: message, tone: "bad" }),
      onSettled: onClose,
    });
  return (
    <Dialog title="Delete this artifact?" open onClose={onClose}>
      <DialogBody className="flex flex-col gap-2 text-sm">
        <p className="break-words font-medium">
          <Plain text={artifact.name} oneLine />
        </p>
        <p className="text-muted">The file is deleted for everyone. The job and its other artifacts stay.</p>
      </DialogBody>
      <DialogActions>
        <Button onClick={onClose}>Keep it</Button>
        <Button variant="danger" busy={remove.isPending} onClick={confirm}>
          Delete artifact
        </Button>
      </DialogActions>
    </Dialog>
  );
}
