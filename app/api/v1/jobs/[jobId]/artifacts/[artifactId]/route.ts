import { downloadArtifact } from "@/lib/api/artifact-download";

export const dynamic = "force-dynamic";
export const GET = downloadArtifact;
