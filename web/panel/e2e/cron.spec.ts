import { expect, test } from "./fixture";

// Row 10 of the tasks. Where the server runs no tasks it says so, and what was typed stays.
test.use({ expected: ["status of 422"] });

test("a task is made with its times shown, or the page says what the server cannot", async ({ page, customer }) => {
  await page.goto(`/panel/services/${await customer.service()}/cron`);
  await page.getByRole("button", { name: "New task" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New task" });
  await dialog.getByLabel("Command").fill("php public_html/cron.php");
  await dialog.getByLabel("Times").fill("61 * * * *");
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog.getByText("Five fields, such as 0 3 * * *, or @daily.")).toBeVisible();
  const often = dialog.getByLabel("How often");
  await often.selectOption("Other times");
  await expect(often).toHaveValue("");
  await often.selectOption("Every 5 minutes");
  await expect(dialog.getByLabel("Times")).toHaveValue("*/5 * * * *");
  await expect(dialog.getByText("In your time it runs:")).toBeVisible();
  await dialog.getByRole("button", { name: "Save" }).click();
  const cannot = dialog.getByText("does not support this operation");
  const made = page.getByRole("row", { name: /php public_html\/cron\.php/ });
  await expect(cannot.or(made)).toBeVisible();
  if (await cannot.isVisible()) await expect(dialog.getByLabel("Command")).toHaveValue("php public_html/cron.php");
});
