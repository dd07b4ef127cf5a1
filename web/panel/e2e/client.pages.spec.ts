import type { Request } from "@playwright/test";

import { expect, test } from "./fixture";
import { reader } from "./texts";
import { appoint, soldInSandbox, visitor } from "./visits";

/** What is no refusal: no template is on the site, and names of a sandbox have no records. */
const known = [/^404 .*\/template$/, /^422 .*\/dns\b/];

/** What does not end. */
const stream = /\/events(\?|$)|[?&]follow=true/;

// Row 22: no page asks for what a reseller's client may not have. Each refusal is a complaint in the console of somebody who has
// done nothing wrong, and tells of what there is beside the client's site.
test("each page of a reseller's client asks only for what a client may have", async ({ page, customer, browser }) => {
  const l = reader("en");
  await appoint(customer);
  const { link } = await soldInSandbox(customer);
  await page.goto("about:blank"); // the client is alone
  const client = await visitor(browser, link, { width: 1280 });
  const refused: string[] = [];
  const asked = new Set<Request>();
  client.on("request", (request) => {
    if (!stream.test(request.url())) asked.add(request);
  });
  client.on("requestfinished", (request) => asked.delete(request));
  client.on("requestfailed", (request) => asked.delete(request));
  client.on("response", (answer) => {
    const { pathname } = new URL(answer.url());
    const text = `${answer.status()} ${answer.request().method()} ${pathname}`;
    if (answer.status() >= 400 && !known.some((one) => one.test(text))) refused.push(text);
  });
  await client
    .getByRole("main")
    .getByRole("link", { name: l("client.passwords") })
    .click();
  const menu = client.getByRole("navigation", { name: l("app.menu") });
  await expect(menu.getByRole("link", { name: l("app.nav.service.dns"), exact: true })).toBeVisible();
  const pages = await menu.getByRole("link").evaluateAll((links) => links.map((one) => one.getAttribute("href") ?? ""));
  expect(pages.length).toBeGreaterThan(12);
  for (const address of pages) {
    await menu.locator(`a[href="${address}"]`).click();
    await expect(client).toHaveURL(new RegExp(`${address}(\\?.*)?$`));
    await expect(client.getByRole("heading", { level: 1 })).toBeFocused();
    await expect.poll(() => [...asked].map((one) => one.url())).toEqual([]);
  }
  await client.context().close();
  expect(refused).toEqual([]);
});
