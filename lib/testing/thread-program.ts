import { build } from "esbuild";

/** Builds the program of a thread that needs nothing but Node's own modules, for tests that run from sources. */
export async function threadProgram(entry: string): Promise<URL> {
  const options = { bundle: true, write: false, platform: "node", format: "esm", logLevel: "error" } as const;
  const { outputFiles } = await build({ entryPoints: [entry], ...options });
  return new URL(`data:text/javascript;base64,${Buffer.from(outputFiles[0]?.contents ?? "").toString("base64")}`);
}
