import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, test } from "vitest";
import { environmentLines, gatherSecrets, pipeVariables, sendSecrets } from "./secret-source.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "leasehold-source-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function fileWith(name: string, content: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return file;
}

describe("secrets of a process", () => {
  test("come from the environment, from a file each, or from one file; explicit settings override", () => {
    const DATA_KEY_FILE = fileWith("key", "from a file\n");
    const lines = "# a comment\nexport DATA_KEY=never\nSMTP_URL='smtp://a:b@c?x=y&z'\nAUTH_SECRET=never\nPORT=1\n";
    const SECRETS_FILE = fileWith("all.env", lines);
    expect(gatherSecrets({ DATA_KEY_FILE, SECRETS_FILE, AUTH_SECRET: "by name ", PORT: "2" })).toEqual({
      values: { DATA_KEY: "from a file", SMTP_URL: "smtp://a:b@c?x=y&z", AUTH_SECRET: "by name" },
      files: [SECRETS_FILE, DATA_KEY_FILE],
      problems: [],
    });
  });

  test("a missing or unnamed file and a secret given twice are errors that contain no value", () => {
    const DATA_KEY_FILE = fileWith("key", "hunter2");
    const AUTH_SECRET_FILE = `${folder}/none`;
    const { problems } = gatherSecrets({ DATA_KEY: "hunter3", DATA_KEY_FILE, AUTH_SECRET_FILE, SECRETS_FILE: "" });
    expect(problems).toEqual([
      "SECRETS_FILE is set but empty",
      "AUTH_SECRET_FILE names a file that cannot be read (ENOENT)",
      "DATA_KEY and DATA_KEY_FILE are both set",
    ]);
  });

  test.each(["plain", "with space", "quo'te", `both '"$HOME`])(
    "a shell and SECRETS_FILE read %j in the same way",
    async (value) => {
      const SECRETS_FILE = fileWith("value.env", environmentLines({ DATA_KEY: value }));
      expect(gatherSecrets({ SECRETS_FILE }).values).toEqual({ DATA_KEY: value });
      const shell = spawn("/bin/sh", ["-c", `. "$1"; printf %s "$DATA_KEY"`, "sh", SECRETS_FILE]);
      expect(await text(shell.stdout)).toBe(value);
    },
  );

  const PROGRAM = `
    import { readFileSync } from "node:fs";
    import { heldSecrets } from "${path.resolve("lib/env/secret-source.mjs")}";
    const held = heldSecrets();
    const environ = readFileSync("/proc/self/environ", "latin1");
    console.log(JSON.stringify({ pid: process.pid, held, again: heldSecrets() === held, env: process.env, environ }));
  `;

  test.skipIf(process.platform !== "linux")(
    "the shell that starts a process reads them and leaves none in its environment",
    async () => {
      const secrets = { DATABASE_URL: "postgresql://a:canary@h/d?x='y'", DATA_KEY: "canary `$(exit 1)` $HOME" };
      const args = ["scripts/bare.sh", process.execPath, "--input-type=module", "-e", PROGRAM];
      const child = spawn("/bin/sh", args, { env: { OTHER: "kept", ...secrets } as unknown as NodeJS.ProcessEnv });
      const said = JSON.parse(await text(child.stdout));
      expect(said).toMatchObject({ pid: child.pid, held: { values: secrets, problems: [] }, again: true });
      expect(said.environ).toContain("OTHER=kept");
      expect(said.environ + JSON.stringify(said.env)).not.toMatch(/canary|SECRETS_FD=.*SECRETS_FD/);
      expect(said.env).not.toHaveProperty("SECRETS_FD");
    },
  );

  test("a child receives them unchanged through a pipe, with the files they came from", async () => {
    const args = ["--input-type=module", "-e", PROGRAM.replace(/const environ = .*/, 'const environ = "";')];
    const env = pipeVariables(3) as unknown as NodeJS.ProcessEnv;
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit", "pipe"] });
    const secrets = { values: { DATA_KEY: `'quoted' "twice" # = x` }, files: ["/etc/leasehold/worker.env"] };
    sendSecrets(child, 3, secrets);
    if (!child.stdout) throw new Error("no output");
    const [said] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect(JSON.parse(said).held).toEqual({ ...secrets, problems: [] });
  });
});
