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

test("G-03 G-04 a job shows the steps that were done, and leads to its children", async () => {
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
