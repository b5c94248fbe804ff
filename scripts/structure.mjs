// `npm run structure`: figures of the code's structure. structure.test.ts bounds them.
import { runMain } from "./lib/fail.mjs";
import { ensureInstalled } from "./lib/install.mjs";

await runMain(async () => {
  await ensureInstalled();
  const { structure } = await import("./lib/structure.mjs");
  const { words, ...lists } = structure();
  for (const [name, list] of Object.entries(lists)) {
    process.stdout.write(`${name}: ${list.length}\n`);
    for (const one of list.slice(0, 40)) process.stdout.write(`  ${JSON.stringify(one)}\n`);
  }
  process.stdout.write(`words: ${words.docs} in documents, ${words.comments} in comments\n`);
});
