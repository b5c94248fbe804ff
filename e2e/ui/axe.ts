import axe from "axe-core";
import type { Page } from "playwright";

export const NARROW = { width: 375, height: 800 };
const WIDE = { width: 1280, height: 800 };

const RULES: axe.RunOnly = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] };
/** What a theme can break: it changes colours, and neither elements nor their places. */
const RULES_OF_COLOUR: axe.RunOnly = { type: "rule", values: ["color-contrast", "link-in-text-block"] };

/**
 * What axe finds wrong with a page as it stands, and how far it is wider than its window: in light and dark, narrow and
 * wide, which are switched under the page. Each line names the view, the theme and the width.
 */
export async function faults(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  await page.evaluate(axe.source);
  for (const size of [NARROW, WIDE]) {
    await page.setViewportSize(size);
    await wear(page, "light");
    found.push(...(await violations(page, RULES)).map((what) => `${name}, light, ${size.width}: ${what}`));
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    if (overflow > 0) found.push(`${name}, ${size.width}: wider than the window by ${overflow} pixels`);
    await wear(page, "dark");
    found.push(...(await violations(page, RULES_OF_COLOUR)).map((what) => `${name}, dark, ${size.width}: ${what}`));
  }
  return found;
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
