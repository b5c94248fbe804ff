import { spawn } from "node:child_process";
import { onTestFinished } from "vitest";
import { waitFor } from "@/lib/testing/processes";

/** The receiver of the documentation, as a process of its own. */
export async function startExample(secret: string) {
  const env = { PATH: process.env.PATH, NODE_ENV: "production" as const, WEBHOOK_SECRET: secret };
  const child = spawn(process.execPath, ["docs/examples/webhook-receiver.mjs", "0"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => {
    output += text;
  });
  // biome-ignore lint/suspicious/noExplicitAny: lines whose shape is what is tested
  const lines = (): any[] => output.split("\n").flatMap((line) => (line === "" ? [] : JSON.parse(line)));
  const { listening } = await waitFor(() => lines()[0]);
  return { url: listening, lines };
}
