import { AxeBuilder } from "@axe-core/playwright";

import { expect, test } from "./fixture";
import { routes } from "./routes";

test.use({ storageState: async ({ resident }, provide) => provide(resident.state) });

const languages = ["en", "ru", "uz"] as const;

// Each page in turn in one language, scheme and width; together the combinations cover all of each.
for (const [at, route] of routes.entries()) {
  for (const scheme of ["light", "dark"] as const) {
    const lang = languages[(at + (scheme === "dark" ? 1 : 0)) % 3] ?? "en";
    const width = (at + (scheme === "dark" ? 1 : 0)) % 2 ? 320 : 1280;
    test(`${route} is accessible: ${scheme}, ${lang}, ${width} px`, async ({ page, resident, expected }) => {
      expected.push("422", "404"); // what a server of the kind "directories" does not have
      await page.emulateMedia({ colorScheme: scheme });
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`/panel${route.replace("$service", String(resident.service))}?lang=${lang}`);
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
    });
  }
}
