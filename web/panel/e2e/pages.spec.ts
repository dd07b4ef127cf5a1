import type { Page } from "@playwright/test";

import { accessible, fits, load } from "./axe";
import { Customer, expect, newAccount, signIn, test, unique } from "./fixture";
import { linkTo } from "./letters";
import { languages, type Lang } from "./texts";
import { totp } from "./totp";

// The pages of the server: those of the shop front, signing in, consent, payment and documentation. Each is read in each
// language on a narrow screen, light and dark, and has to fit a wide one.

// Colours that move from one to another are neither.
test.use({ contextOptions: { reducedMotion: "reduce" } });

/** Judges the page that is shown in one language. */
async function judge(page: Page, where: string) {
  await load(page);
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await accessible(page, `${where}, ${scheme}, 320 px`, scheme === "light" ? "all" : "color-contrast");
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await fits(page, `${where}, 1280 px`);
  await page.setViewportSize({ width: 320, height: 800 });
}

/** Judges the pages at addresses, in languages. */
async function judged(page: Page, addresses: string[], spoken: readonly Lang[] = languages) {
  await page.setViewportSize({ width: 320, height: 800 });
  for (const address of addresses) {
    await test.step(address, async () => {
      for (const lang of spoken) {
        await page.goto(`${address}${address.includes("?") ? "&" : "?"}lang=${lang}`);
        await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
        await expect(page.locator("html")).toHaveAttribute("lang", lang);
        await judge(page, `${address} in ${lang}`);
      }
    });
  }
}

test("the shop front and what everybody reads: accessible", async ({ page, expected }) => {
  expected.push("404");
  await judged(page, [
    "/",
    "/domains?name=shop-of-anna.com",
    "/templates",
    "/templates/landing",
    "/kb",
    "/kb?q=mail",
    "/kb/first-site",
    "/blog",
    "/glossary",
    "/reviews",
    "/status",
    "/nothing-is-here",
  ]);
});

test("the reference and the guides: accessible", async ({ page }) => {
  await judged(page, ["/docs/", "/docs/services", "/docs/guides", "/docs/guides?q=webhook"], ["en"]);
  await page.goto("/docs/guides");
  const guide = await page.locator(".group a").first().getAttribute("href");
  await judged(page, [guide ?? ""], ["en"]);
});

test("registering, signing in, and the links of mails: accessible", async ({ page, browser, expected }) => {
  expected.push("400", "401", "404", "422");
  await judged(page, ["/login", "/register", "/recover", "/recover/unknown", "/email/unknown", "/client/unknown"]);
  await judged(page, ["/oauth/authorize", "/pay/unknown"]);

  // What is refused is said beside its field.
  const refused = async (address: string, values: Record<string, string>) => {
    for (const lang of languages) {
      await page.goto(`${address}?lang=${lang}`);
      for (const [name, value] of Object.entries(values)) await page.locator(`[name=${name}]`).fill(value);
      await page.locator("main form button").first().click();
      await expect(page.locator("[role=alert]:visible, [aria-invalid=true]").first()).toBeVisible();
      await judge(page, `${address}, refused, in ${lang}`);
    }
  };
  await refused("/register", { name: "Anna", email: "anna@example.com", password: "password" });
  await refused("/login", { email: unique("nobody") + "@example.com", password: "no such password" });

  const { email, password } = await newAccount();
  await page.goto("/recover?lang=uz");
  await page.locator("[name=email]").fill(email);
  await page.locator("main form button").click();
  await expect(page.getByRole("status")).toBeVisible();
  await judge(page, "/recover, sent");
  await judged(page, [await linkTo(email, "/recover/")]);

  // The second factor is asked for on a page of its own.
  const context = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  await signIn(await context.newPage(), email, password);
  const customer = new Customer(email, password, context.request);
  const { key } = await customer.call<{ key: string }>("POST", "/me/two-factor/enrol", {});
  await customer.call("POST", "/me/two-factor", { code: totp(key) });
  await context.close();
  await page.goto("/login");
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill(password);
  await page.locator("main form button").first().click();
  await page.waitForURL(/\/login\/code/);
  await judged(page, ["/login/code"]);

  await page.goto("/status?lang=ru");
  await page.locator("[name=email]").fill(email);
  await page.locator("form[action='/status/subscribe'] button").click();
  await expect(page.getByRole("status").first()).toBeVisible();
  const subscription = await linkTo(email, "/status/subscription/");
  await judged(page, [subscription]);
  await page.locator("main form button").click();
  await expect(page.locator("main .notice.good")).toBeVisible();
  await judge(page, "the subscription, confirmed");
});

test("consent, devices, payments and a link of a client: accessible", async ({ page, customer }) => {
  const application = await customer.call<{ id: number; client_id: string }>("POST", "/apps", {
    name: "Backup tool",
    redirect_uris: ["http://127.0.0.1/callback"],
    scopes: ["profile", "services:read"],
  });
  const ask = new URLSearchParams({
    client_id: application.client_id,
    response_type: "code",
    redirect_uri: "http://127.0.0.1/callback",
    scope: "profile services:read",
    state: "state",
    code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method: "S256",
  });
  const device = await page.request.post("/oauth/device_authorization", {
    form: { client_id: application.client_id, scope: "profile services:read" },
  });
  const { user_code: code } = (await device.json()) as { user_code: string };
  const topup = async () => {
    const { checkout_url: url } = await customer.call<{ checkout_url: string }>(
      "POST",
      "/wallet/topups",
      { amount_usd_cents: 1000, gateway: "demo" },
      { key: unique("topup") },
    );
    return new URL(url).pathname;
  };
  const open = await topup();
  await judged(page, [`/oauth/authorize?${ask}`, "/oauth/device", `/oauth/device?user_code=${code}`, open]);
  await page.locator("main form button").first().click();
  await expect(page).toHaveURL(/back=1/);
  await judged(page, [open]);
  await page.goto(await topup());
  await page.locator("main form button").last().click();
  await expect(page).toHaveURL(/back=1/);
  await judge(page, "a payment that failed");
  await page.goto(`/oauth/device?user_code=${code}`);
  await page.locator("main form button").first().click();
  await expect(page.getByRole("status")).toBeVisible();
  await judge(page, "a device that is allowed");
});
