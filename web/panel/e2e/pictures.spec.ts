import type { Browser, Page } from "@playwright/test";

import { Customer, drawn, expect, newAccount, signIn, test } from "./fixture";

// Takes the pictures of the panel that the documents show, into the folder that DOCUMENT_PICTURES names (`make pictures`):
// of a shop in which people have bought something.

const folder = process.env.DOCUMENT_PICTURES ?? "";

/** A customer who is signed in on a page of their own. */
async function someone(browser: Browser, baseURL?: string) {
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] }, locale: "en-US" });
  const page = await context.newPage();
  const { email, password } = await newAccount();
  await signIn(page, email, password);
  return new Customer(email, password, context.request);
}

/** Takes pictures of a page at the widths of a desk and of a phone. */
async function take(page: Page, name: string, path: string, ready: string | RegExp) {
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.goto(`/panel${path}`);
    await drawn(page);
    await expect(page.locator("#page").getByText(ready).first()).toBeVisible();
    await page.waitForTimeout(1000); // sleeps: parts of a page say nothing while they load
    await expect(page.locator("#page .mantine-Skeleton-root")).toHaveCount(0);
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: `${folder}/panel-${name}-${width}.png`, fullPage: true, animations: "disabled" });
  }
}

test.describe.configure({ mode: "serial" });

test("pictures of a customer's pages", async ({ page, customer }) => {
  test.slow();
  const domain = "samarkand-tea.example.net";
  const service = await customer.service({ domain, plan: 1 });
  await customer.service({ domain: "rishton-ceramics.example.org", plan: 0 });
  const { data: templates } = await customer.call<{ data: { slug: string }[] }>("GET", "/templates?lang=en");
  await customer.call("POST", `/services/${service}/template`, {
    template: templates[0]?.slug,
    title: "Samarkand Tea",
  });
  const files = async () =>
    (await customer.call<{ data: unknown[] }>("GET", `/services/${service}/files?path=/public_html`)).data.length;
  await expect.poll(files).toBeGreaterThan(2);
  await customer.call("POST", `/services/${service}/backups`, {});
  await customer.call("POST", "/tickets", {
    subject: "May I have a second address for my shop?",
    message: "My customers look for me under a shorter name, too.",
    service_id: service,
  });
  const { data: monitors } = await customer.call<{ data: { id: number; service_id: number }[] }>("GET", "/monitors");
  const monitor = monitors.find((one) => one.service_id === service)?.id ?? 0;
  const records = async () => (await customer.call<{ data: unknown[] }>("GET", `/services/${service}/dns`)).data.length;
  await expect.poll(records).toBeGreaterThan(2);
  const backups = async () =>
    (await customer.call<{ data: { status: string }[] }>("GET", `/services/${service}/backups`)).data.map(
      (one) => one.status,
    );
  await expect.poll(backups).toEqual(["completed"]);
  const uptime = async () =>
    (await customer.call<{ uptime: Record<string, number | null> }>("GET", `/monitors/${monitor}`)).uptime["24h"];
  await expect.poll(uptime, { timeout: 300_000 }).not.toBe(null); // some checks have been made

  await take(page, "overview", "/", "All is well");
  await take(page, "order", "/order", "Your order");
  await take(page, "service", `/services/${service}`, domain);
  await take(page, "files", `/services/${service}/files/public_html`, "index.html");
  await take(page, "dns", `/services/${service}/dns`, "NS");
  await take(page, "wallet", "/wallet", "Movements");
  await take(page, "monitors", `/monitors/${monitor}`, domain);
  await take(page, "support", "/support", "second address");
  await take(page, "security", "/account/security", "Passkeys");
});

test("pictures of the pages of staff", async ({ page, browser, baseURL }) => {
  for (const [domain, plan] of [
    ["bukhara-carpets.example.org", 0],
    ["chorsu-books.example.net", 1],
    ["ferghana-silk.example.org", 2],
    ["khiva-guides.example.net", 0],
  ] as const) {
    const one = await someone(browser, baseURL);
    await one.service({ domain, plan });
  }
  const writer = await someone(browser, baseURL);
  await writer.call("POST", "/tickets", {
    subject: "Which plan suits a shop?",
    message: "I sell ceramics from Rishton.",
  });
  const { email, password } = await newAccount("--admin");
  await signIn(page, email, password);
  await take(page, "staff", "/staff", "Recurring a month");
});
