import { expect, test } from "./fixture";

test("a database where the server has none says so, and the form keeps what was typed", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("422");
  const service = await customer.service();
  await page.goto(`/panel/services/${service}/databases`);
  await expect(page.getByRole("heading", { level: 1, name: "Databases" })).toBeFocused();
  await page.getByRole("button", { name: "New database" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("My Shop");
  await dialog.getByRole("button", { name: "New database" }).click();
  await expect(dialog.getByText("Only small letters")).toBeVisible();
  await dialog.getByLabel("Name").fill("shop");
  await dialog.getByRole("button", { name: "New database" }).click();
  await expect(dialog.getByRole("status")).toBeVisible(); // no failure: this server has no databases
  await expect(dialog.getByLabel("Name")).toHaveValue("shop");
});
