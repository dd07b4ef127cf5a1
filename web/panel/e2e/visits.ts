import { expect, type Browser, type Page } from "@playwright/test";

import { drawn, stead, unique, type Customer } from "./fixture";

const world = { "X-Stead-World": "sandbox" };

/** Makes somebody a reseller. */
export const appoint = (customer: Customer) =>
  stead("admin", "resellers", "appoint", customer.email, "--tier", "silver", "--discount", "10");

/** A service that a reseller has sold in the sandbox, whose simulated server has all that a machine has, and the link to it. */
export async function soldInSandbox(reseller: Customer) {
  const { data } = await reseller.call<{ data: { type: string; plans: { id: number }[] }[] }>("GET", "/catalog");
  const domain = unique("shop") + ".example.com";
  const { id } = await reseller.call<{ id: number }>(
    "POST",
    "/reseller/services",
    { plan_id: data.find(({ type }) => type === "hosting")?.plans.at(-1)?.id, domain },
    { headers: world, key: unique("service") },
  );
  const path = `/reseller/services/${id}`;
  const status = async () =>
    (await reseller.call<{ status: string }>("GET", path, undefined, { headers: world })).status;
  await expect.poll(status).toBe("active");
  const { login_link: link, usernames } = await reseller.call<{ login_link: { url: string }; usernames: string[] }>(
    "POST",
    `${path}/reset-password`,
    {},
    { headers: world },
  );
  return { id, domain, link: link.url, usernames };
}

/** Opens a one-time link as a person who has no account, and answers their page. */
export async function visitor(browser: Browser, link: string, { width = 390, locale = "en-US" } = {}): Promise<Page> {
  const storageState = { cookies: [], origins: [] };
  const context = await browser.newContext({ viewport: { width, height: 844 }, storageState, locale });
  const page = await context.newPage();
  await page.goto(new URL(link).pathname);
  await page.locator("main form button").click();
  await page.waitForURL(/\/client\/panel\//);
  await drawn(page);
  return page;
}
