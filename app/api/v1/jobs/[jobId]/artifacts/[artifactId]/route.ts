import { downloadArtifact } from "@/lib/api/resources/artifact-download";
import { tenantRoute } from "@/lib/api/route";
import { artifact, artifactParams } from "@/lib/contract";
import { deleteArtifact } from "@/lib/queue";

export const dynamic = "force-dynamic";
export const GET = downloadArtifact;

export const DELETE = tenantRoute({
  permission: "jobs:update",
  summary: "Delete an artifact of a job and free its quota",
  params: artifactParams,
  response: artifact,
  handler: async ({ db, scope, params }) => await deleteArtifact(db, scope, params),
});
