import { expect, test } from "./fixture";

// Refusals are part of these tests.
test.use({ expected: ["status of 422"] });

// Row 7 of the tasks. Where the server has no mail it says so, and what was typed stays.
test("a mailbox is made and set up, or the page says what the server cannot", async ({ page, customer }) => {
  await page.goto(`/panel/services/${await customer.service()}/mail`);
  await page.getByRole("button", { name: "New mailbox" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New mailbox" });
  await dialog.getByLabel("Address").fill("in fo");
  await dialog.getByRole("button", { name: "New mailbox" }).click();
  await expect(dialog.getByText("Letters, digits, dots, hyphens and underscores.")).toBeVisible();
  await dialog.getByLabel("Address").fill("info");
  await dialog.getByRole("button", { name: "New mailbox" }).click();
  const cannot = dialog.getByText("does not support this operation");
  const password = page.getByText("The password, shown this once");
  await expect(cannot.or(password)).toBeVisible();
  if (await cannot.isVisible()) await expect(dialog.getByLabel("Address")).toHaveValue("info");
});
