"use client";

import { ConfirmDialog } from "@/components/ui/forms/confirm-dialog";
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
    <ConfirmDialog
      title="Delete this artifact?"
      keep="Keep it"
      action="Delete artifact"
      busy={remove.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <p className="break-words font-medium">
        <Plain text={artifact.name} oneLine />
      </p>
      <p className="text-muted">The file is deleted for everyone. The job and its other artifacts stay.</p>
    </ConfirmDialog>
  );
}
