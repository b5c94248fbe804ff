import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { writeWhole } from "./files.mjs";
import { homeFolder } from "./paths.mjs";
import { say } from "./progress.mjs";

/**
 * Writes the actual URL to demo.json, and shows the logins.
 * @param {string} url
 */
export function publishDemo(url) {
  const file = path.join(homeFolder(), "demo.json");
  if (!existsSync(file)) return;
  const demo = { ...JSON.parse(readFileSync(file, "utf8")), base_url: url };
  writeWhole(file, `${JSON.stringify(demo, null, 2)}\n`, 0o600);
  for (const [name, user] of Object.entries(demo.users))
    say(`  ${name.padEnd(14)} ${user.email.padEnd(26)} ${user.password}`);
  say(`\n  API key of tenant acme: ${demo.api_keys.acme}`);
  say(`  All of it is in ${file}\n`);
}
