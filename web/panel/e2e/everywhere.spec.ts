import type { Page } from "@playwright/test";

import { accessible, fits, load } from "./axe";
import { drawn, expect, test } from "./fixture";
import { clientRoutes, detailRoutes, routes, staffRoutes } from "./routes";

const languages = ["en", "ru", "uz"] as const;

/** How many pages a test looks at, one after the other in one document, as a person goes from page to page. */
const together = 8;

interface Look {
  scheme: "light" | "dark";
  width: 320 | 1280;
  lang: (typeof languages)[number];
}

/** The look that differs from another in everything. */
const opposite = ({ scheme, width, lang }: Look): Look => ({
  scheme: scheme === "light" ? "dark" : "light",
  width: width === 320 ? 1280 : 320,
  lang: languages[(languages.indexOf(lang) + 1) % languages.length] ?? "en",
});

/** Waits until everything that the page asks for is answered, and it has asked for nothing for a moment. Streams begin at once. */
function quiet(page: Page) {
  const asked = new Set<unknown>();
  let last = Date.now();
  const answered = (request: unknown) => {
    asked.delete(request);
    last = Date.now();
  };
  page.on("request", (request) => {
    asked.add(request);
    last = Date.now();
  });
  page.on("response", (response) => answered(response.request()));
  page.on("requestfailed", answered);
  return () =>
    expect
      .poll(() => asked.size === 0 && Date.now() - last >= 150, {
        message: "requests without an answer",
        intervals: [50],
      })
      .toBe(true);
}

// Each page is read in two looks, of which the second differs in all: scheme, language and width. The next page is opened
// in the second look of the one before. Together the pages cover all of each. Where `once`, axe judges a page in the first look alone.
function judged(pages: string[], { base = "/panel", once = false } = {}) {
  for (let first = 0; first < pages.length; first += together) {
    const some = pages.slice(first, first + together);
    test(`${some.join(", ")}: accessible`, async ({ page, details, expected }) => {
      expected.push("422", "404"); // what a server of the kind "directories" does not have
      const settled = quiet(page);
      let look: Look = { scheme: (first / together) % 2 ? "dark" : "light", width: 1280, lang: "en" };
      const show = async ({ scheme, width }: Look) => {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 800 });
      };
      const speak = async (lang: string) => {
        await page
          .locator("header")
          .getByRole("button", { name: /Language|Язык|Til/ })
          .click();
        await page.locator(`[role=menuitem][lang=${lang}]`).click();
        await expect(page.locator("html")).toHaveAttribute("lang", lang);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await settled();
      };
      await show(look);
      for (const route of some) {
        await test.step(route, async () => {
          const address =
            base + route.replace(/\$(\w+)/, (_, name: string) => String(details[name as keyof typeof details]));
          if (route === some[0] || route.includes("?")) {
            await page.goto(`${address}${address.includes("?") ? "&" : "?"}lang=${look.lang}`);
            await load(page);
          } else {
            // A page gives the document its title as soon as it is drawn.
            await page.evaluate((path) => {
              document.title = "";
              history.pushState({}, "", path);
            }, address);
            await expect(page).not.toHaveTitle("");
          }
          await drawn(page);
          await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
          await settled();
          const said = ({ scheme, width, lang }: Look) => `${route} in ${scheme}, ${lang}, ${width} px`;
          await accessible(page, said(look));
          look = opposite(look);
          await show(look);
          await speak(look.lang);
          await (once ? fits : accessible)(page, said(look));
        });
      }
    });
  }
}

test.describe("a customer", () => {
  test.use({ storageState: async ({ resident }, provide) => provide(resident.state) });
  judged(routes);
  judged(detailRoutes, { once: true });

  test("a service that is not there has one page that says so", async ({ page, expected }) => {
    expected.push("404");
    await page.goto("/panel/services/999999/databases?lang=en");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("There is nothing here");
    await expect(page.getByRole("alert")).toHaveCount(0);
    await expect(page.getByRole("link", { name: "Databases", exact: true })).toHaveCount(0); // nor a menu of it
    await page.getByRole("link", { name: "To the overview" }).click();
    await expect(page.getByRole("heading", { level: 1 })).not.toHaveText("There is nothing here");
  });

  test("what is not there has a page with a heading and a title that say so", async ({ page, resident, expected }) => {
    expected.push("404");
    for (const route of detailRoutes) {
      const address = route.replace("$service", String(resident.service)).replace("index.html", "gone.html");
      await page.goto(`/panel${address.replace(/\$\w+/, "999999")}?lang=en`);
      await expect(page.getByRole("heading", { level: 1 }), route).toHaveText("There is nothing here");
      await expect(page, route).toHaveTitle(/^There is nothing here/);
    }
  });
});

test.describe("staff", () => {
  test.use({ storageState: async ({ owner }, provide) => provide(owner) });
  judged(staffRoutes);

  test("what is not there has a page with a heading and a title that say so", async ({ page, expected }) => {
    expected.push("404");
    for (const route of staffRoutes.filter((one) => /\$\w+$/.test(one))) {
      await page.goto(`/panel${route.replace(/\$\w+/, "999999")}?lang=en`);
      await expect(page.getByRole("heading", { level: 1 }), route).toHaveText("There is nothing here");
      await expect(page, route).toHaveTitle(/^There is nothing here/);
    }
  });
});

test.describe("a reseller's client", () => {
  test.use({ storageState: async ({ details }, provide) => provide(details.client) });
  judged(clientRoutes, { base: "/client/panel", once: true });
});
