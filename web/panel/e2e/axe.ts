import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { expect, type Page } from "@playwright/test";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

declare global {
  interface Window {
    axe: typeof import("axe-core");
  }
}

/** Loads axe into the document that the page shows. */
export const load = (page: Page) => page.evaluate(axe);

/** Checks that nothing is wider than the screen. */
export async function fits(page: Page, where: string) {
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect.soft(over, `${where} is wider than the screen`).toBeLessThanOrEqual(0);
}

/** Tags of the rules of WCAG 2.2 AA. */
const all = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Has axe, which is loaded, judge the page by all rules or by one, and checks that nothing is wider than the screen. */
export async function accessible(page: Page, where: string, rules: "all" | "color-contrast" = "all") {
  await fits(page, where);
  const problems = await page.evaluate(
    async (runOnly) => {
      const { violations } = await window.axe.run(document, { runOnly, resultTypes: ["violations"] });
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join("\n")}`);
    },
    rules === "all" ? all : [rules],
  );
  expect.soft(problems, where).toEqual([]);
}
