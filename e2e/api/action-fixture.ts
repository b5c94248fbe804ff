import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";
import { onTestFinished } from "vitest";
import { waitFor } from "@/lib/testing/processes";

/** Starts the example receiver of the documentation, as a process of its own. */
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

/** Starts a local mail server that accepts every message. */
export async function startMailServer() {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _session, done) =>
      void text(stream).then((mail) => {
        mails.push(mail);
        done(null);
      }),
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  return { mails, url: `smtp://127.0.0.1:${port}`, close: () => new Promise<void>((done) => server.close(done)) };
}
