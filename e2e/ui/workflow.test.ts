import { expect, test } from "vitest";
import type { JobDependencies } from "@/lib/contract";
import { openStage } from "./stage";

const stage = await openStage();

interface Accepted {
  readonly data: readonly { readonly id: string; readonly ref: string }[];
}

test("A-04 a job's page links to its parents and children and follows their status", async () => {
  const speak = (ref: string, more: object = {}) => ({
    definition_key: "speak",
    ref,
    payload: { lines: [ref] },
    ...more,
  });
  const gate = await stage.enqueue({ lines: ["gate"] }, { scheduled_for: "2126-01-01T00:00:00Z" });
  const { data } = await stage.api<Accepted>("POST", "/jobs/bulk", {
    key: stage.keys.acme,
    body: {
      jobs: [
        speak("first"),
        speak("middle", {
          depends_on: [
            { ref: "first", type: "completion" },
            { job_id: gate.id, type: "conditional", condition: { path: "status", op: "ne", value: "failed" } },
          ],
        }),
        ...["a", "b", "c", "d", "e", "f", "g", "h"].map((ref) => speak(ref, { depends_on: [{ ref: "middle" }] })),
      ],
    },
  });
  const [first, middle, last] = data;
  const { page, context } = await stage.signIn(stage.people.viewer, { at: `/t/acme/jobs/${middle?.id}` });
  const parents = page.getByRole("region", { name: "Depends on" });
  const children = page.getByRole("region", { name: "Dependents" });
  await parents.getByText("1 of 2 met").waitFor();
  await parents.getByText('status ne "failed"').waitFor();
  await page.getByRole("region", { name: "State" }).getByText(`Waits for speak (${gate.id}).`).waitFor();
  expect(await children.getByRole("listitem").count()).toBe(6);
  await children.getByRole("button", { name: "Show all 8" }).click();
  expect(await children.getByRole("listitem").count()).toBe(8);

  await stage.api("POST", `/jobs/${gate.id}/cancel`, { key: stage.keys.acme, body: {} });
  await children.getByText("8 of 8 met").waitFor();
  await parents.getByRole("link").first().click();
  await page.waitForURL(new RegExp(`/jobs/(${first?.id}|${gate.id})$`));
  await context.close();
  const found = await stage.api<JobDependencies>("GET", `/jobs/${last?.id}/dependencies`, { key: stage.keys.acme });
  expect(found.parents).toMatchObject([{ job_id: middle?.id, status: "succeeded", state: "met" }]);
});
