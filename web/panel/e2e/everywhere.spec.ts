import { AxeBuilder } from "@axe-core/playwright";

import { expect, test } from "./fixture";
import { routes, staffRoutes } from "./routes";

const languages = ["en", "ru", "uz"] as const;

// Each page is read in two looks, of which the second differs in all: scheme, language and width. Together the pages
// cover all of each.
function accessible(pages: string[]) {
  for (const [at, route] of pages.entries()) {
    test(`${route} is accessible`, async ({ page, resident, expected }) => {
      expected.push("422", "404"); // what a server of the kind "directories" does not have
      const address = route.replace(/\$(service|account|order|ticket)/, (_, name: string) =>
        String(resident[name as "service" | "account" | "order" | "ticket"]),
      );
      for (const [look, scheme] of (["light", "dark"] as const).entries()) {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width: (at + look) % 2 ? 320 : 1280, height: 800 });
        const lang = languages[(at + look) % 3] ?? "en";
        await page.goto(`/panel${address}${address.includes("?") ? "&" : "?"}lang=${lang}`);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await page.waitForLoadState("networkidle");
        const { violations } = await new AxeBuilder({ page })
          .withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"])
          .analyze();
        expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n")}`)).toEqual([]);
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        expect(overflow, "the page is wider than the screen").toBeLessThanOrEqual(0);
      }
    });
  }
}

test.describe("a customer", () => {
  test.use({ storageState: async ({ resident }, provide) => provide(resident.state) });
  accessible(routes);
});

test.describe("staff", () => {
  test.use({ storageState: async ({ owner }, provide) => provide(owner) });
  accessible(staffRoutes);
});
