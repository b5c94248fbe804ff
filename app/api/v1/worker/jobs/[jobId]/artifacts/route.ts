import { uploadArtifact } from "@/lib/api/remote/artifact";

export const dynamic = "force-dynamic";
export const PUT = uploadArtifact;
