import axe from "axe-core";
import type { Page } from "playwright";

export const NARROW = { width: 375, height: 800 };
const WIDE = { width: 1280, height: 800 };

const RULES: axe.RunOnly = {
  type: "tag",
  values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
};
/** The rules that a theme can break: it changes colors, and neither elements nor their positions. */
const RULES_OF_COLOUR: axe.RunOnly = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/** A few parts of one kind show the effect of a theme or a width on all of them. */
const SAMPLE = 10;

/**
 * Returns what axe finds wrong with a page, by how much the page is wider than its window, and what overflows its panel
 * and cannot be scrolled to. Checks light and dark, narrow and wide, switched under the page. Each line names the view,
 * the theme and the width. `alike` selects parts of one kind that occur by the hundred: the first check covers all of
 * them, the others a few.
 */
export async function faults(page: Page, name: string, alike?: string): Promise<string[]> {
  const found: string[] = [];
  for (const { width, height } of [WIDE, NARROW]) {
    await page.setViewportSize({ width, height });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (overflow > 0) found.push(`${name}, ${width}: wider than the window by ${overflow} pixels`);
    found.push(...(await cutOff(page)).map((what) => `${name}, ${width}: cut off: ${what}`));
  }
  await page.evaluate(axe.source);
  for (const size of [NARROW, WIDE]) {
    await page.setViewportSize(size);
    await wear(page, "light");
    found.push(...(await violations(page, RULES)).map((what) => `${name}, light, ${size.width}: ${what}`));
    if (alike) await page.locator(alike).evaluateAll((all, few) => all.slice(few).map((one) => one.remove()), SAMPLE);
    await wear(page, "dark");
    found.push(...(await violations(page, RULES_OF_COLOUR)).map((what) => `${name}, dark, ${size.width}: ${what}`));
  }
  return found;
}

/** Returns parts that begin or end outside of their panel or dialog, where nothing in between clips or scrolls. */
async function cutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const frames = ".panel, dialog, .overflow-y-auto";
    const sticksOut = (part: Element) => {
      const frame = part.closest(frames);
      const box = part.getBoundingClientRect();
      if (!frame || box.width === 0) return false;
      for (let one = part.parentElement; one && one !== frame; one = one.parentElement)
        if (getComputedStyle(one).overflowX !== "visible") return false;
      const { left, right } = frame.getBoundingClientRect();
      return box.left < left - 1 || box.right > right + 1;
    };
    const parts = document.querySelectorAll("main :is(p, td, time, button, pre), dialog :is(p, td, time, button, pre)");
    return [...parts].filter(sticksOut).map((part) => part.outerHTML.slice(0, 200));
  });
}

async function wear(page: Page, theme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html.${theme}`).waitFor();
}

async function violations(page: Page, runOnly: axe.RunOnly): Promise<string[]> {
  return page.evaluate(
    async (options) => {
      const { axe: runner } = window as unknown as { axe: typeof axe };
      const result = await runner.run(document, { ...options, resultTypes: ["violations"] });
      return result.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`));
    },
    { runOnly },
  );
}
