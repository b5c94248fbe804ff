import { DefinitionVersions } from "@/lib/queue/remote";

/**
 * Cache of the definition versions that the jobs of remote workers were accepted with, for all requests of this
 * process.
 */
export const versions = new DefinitionVersions();
