import { expect, test } from "./fixture";

// Row 5 of the tasks.
test("a subdomain and a redirect are added", async ({ page, customer }) => {
  await page.goto(`/panel/services/${await customer.service()}/domains`);
  const own = (await page.locator("tbody tr").first().getByRole("link").textContent()) ?? "";
  await page.getByRole("button", { name: "Add domain" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Add domain" });
  await dialog.getByLabel("A subdomain").check();
  await dialog.getByLabel("Domain", { exact: true }).fill("blog.elsewhere.example");
  await dialog.getByRole("button", { name: "Add domain" }).click();
  await expect(dialog.getByText(`A subdomain of a domain that is here, such as blog.${own}.`)).toBeVisible();
  await dialog.getByLabel("Domain", { exact: true }).fill(`blog.${own}`);
  await dialog.getByRole("button", { name: "Add domain" }).click();

  // What the DNS shows, and what is to be set there.
  const settings = page.getByRole("dialog", { name: `blog.${own}` });
  await expect(settings.getByText("The DNS shows now:")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: new RegExp(`blog.${own}.*/sites/.*Active`) })).toBeVisible();

  await page.getByRole("button", { name: "Add domain" }).first().click();
  await dialog.getByLabel("A redirect").check();
  await dialog.getByLabel("Domain", { exact: true }).fill(`old.${own}`);
  await dialog.getByLabel("Send visitors to").fill(`https://${own}/new`);
  await dialog.getByRole("button", { name: "Add domain" }).click();
  await page.getByRole("dialog", { name: `old.${own}` }).waitFor();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("row", { name: new RegExp(`old.${own}.*→ https://${own}/new.*Active`) })).toBeVisible();

  await page.getByRole("button", { name: `Remove old.${own}` }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: `Remove old.${own}` })
    .click();
  await expect(page.getByRole("row", { name: `old.${own}` })).toBeHidden();
});
