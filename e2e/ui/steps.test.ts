import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openStage } from "./stage";

const stage = await openStage();
const parent = await stage.enqueue({ lines: ["parent"] });
const child = await stage.enqueue({ lines: ["child"] }, { parent_job_id: parent.id });
await stage.settled(parent.id);
await stage.database.query(
  `insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result)
   select id, 1, s.name, tenant_id, 1, s.result from app.jobs,
     (values ('charge', '{"invoice": "A-17", "paid": true}'::jsonb), ('report', to_jsonb(repeat('x', 20000))),
             ('a name as long as it is allowed to be ' || repeat('y', 150), 'null')) s (name, result)
   where id = $1`,
  [parent.id],
);

test("a job's page lists its artifacts, downloads one and deletes one", async () => {
  const addArtifact = (name: string, text: string) =>
    stage.database.query(
      `with made as (
         insert into app.artifacts (tenant_id, job_id, run_no, attempt_no, name, content_type, size, chunks, sha256, completed_at)
         select tenant_id, id, 1, 1, $2, 'text/plain', octet_length($3), 1, sha256(convert_to($3, 'UTF8')), app.now()
         from app.jobs where id = $1 returning tenant_id, id)
       insert into app.artifact_chunks (tenant_id, artifact_id, no, bytes)
       select tenant_id, id, 0, convert_to($3, 'UTF8') from made`,
      [parent.id, name, text],
    );
  const { page, context } = await stage.signIn(stage.people.admin, {
    at: `${stage.web.url}/t/acme/jobs/${parent.id}?tab=artifacts`,
  });
  await page.getByText("The job has no artifacts").waitFor();
  await addArtifact("reports/monthly figures.csv", "a,b\n1,2\n");
  await addArtifact(`${"long-".repeat(38)}name.txt`, "x");
  await page.reload();
  const list = page.getByRole("region", { name: "Artifacts" });
  await list.getByText("reports/monthly figures.csv").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    list.getByRole("link", { name: "Download reports/monthly figures.csv" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("monthly figures.csv");
  expect(readFileSync(await download.path(), "utf8")).toBe("a,b\n1,2\n");
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBeLessThanOrEqual(0);
  }
  await list.getByRole("button", { name: /^Delete long-/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete artifact" }).click();
  await list.getByRole("link", { name: /^Download long-/ }).waitFor({ state: "detached" });
  await list.getByText("reports/monthly figures.csv").waitFor();
  await context.close();
});

test("G-03 G-04 a job shows its completed steps and links to its children", async () => {
  const { page, context } = await stage.signIn(stage.people.admin, {
    at: `${stage.web.url}/t/acme/jobs/${parent.id}?tab=data`,
  });
  const steps = page.getByRole("region", { name: "Steps" });
  await steps.getByText("charge").waitFor();
  expect(await steps.textContent()).toContain('"invoice":"A-17"');
  expect(await steps.textContent()).toContain("of result");
  for (const [width, scheme] of [
    [1280, "light"],
    [375, "dark"],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: scheme });
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(overflow).toBeLessThanOrEqual(0);
  }
  await page.getByRole("tab", { name: "Details" }).click();
  const children = page.getByRole("region", { name: "Children" });
  await children.getByRole("link", { name: "speak" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 900 });
  await children.getByRole("link", { name: "speak" }).click();
  await page.waitForURL(new RegExp(child.id));
  await context.close();
});

test("long lists are read to the end: all steps, all output, and a complete download", async () => {
  const large = await stage.enqueue({ lines: ["large"] });
  await stage.settled(large.id);
  await stage.database.query(
    `insert into app.job_steps (job_id, run_no, name, tenant_id, attempt_no, result)
     select id, 1, 'step ' || n, tenant_id, 1, to_jsonb(repeat('x', 15000))
     from app.jobs, generate_series(1, 60) n where id = $1`,
    [large.id],
  );
  await stage.database.query(
    `insert into app.job_logs (job_id, attempt_no, seq, tenant_id, stream, body)
     select id, 9, n, tenant_id, 'stdout', n || repeat('y', 30000) || chr(10)
     from app.jobs, generate_series(1, 60) n where id = $1`,
    [large.id],
  );
  const { page, context } = await stage.signIn(stage.people.admin, { at: `/t/acme/jobs/${large.id}?tab=data` });
  await page.getByRole("region", { name: "Steps" }).getByText("step 60", { exact: true }).waitFor();
  await page.goto(`${stage.web.url}/t/acme/jobs/${large.id}?tab=output&attempt=9`);
  const output = page.getByRole("region", { name: "Output" });
  await output.getByText("60 lines").waitFor();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    output.getByRole("button", { name: "Download" }).click(),
  ]);
  const numbers = readFileSync(await download.path(), "utf8").match(/[0-9]+(?=y{30000}\n)/g);
  expect(numbers).toEqual(Array.from({ length: 60 }, (_, index) => String(index + 1)));
  await context.close();
});
