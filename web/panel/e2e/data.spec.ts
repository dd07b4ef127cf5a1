import { readFile } from "node:fs/promises";

import { expect, test } from "./fixture";

test("a customer takes all data along, after a proof of who asks", async ({ page, customer, expected }) => {
  expected.push("403"); // the proof that is asked for
  await page.goto("/panel/account/data");
  let asked = false;
  await page.route("**/me/export", (route) => {
    if (asked || route.request().method() !== "POST") return route.continue();
    asked = true;
    return route.fulfill({ status: 403, json: { error: "reauthentication_required", message: "" } });
  });
  await page.getByRole("button", { name: "Make an archive" }).click();
  const proof = page.getByRole("dialog", { name: "Is it you?" });
  await proof.getByRole("textbox", { name: "Password", exact: true }).fill(customer.password);
  await proof.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("Your archive is being made.").first()).toBeVisible();
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: /^Download \(/ }).click({ timeout: 60_000 });
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^account-\d{4}-\d\d-\d\d\.zip$/);
  const content = await readFile(await file.path());
  expect(content.subarray(0, 2).toString()).toBe("PK");
  for (const name of ["profile.json", "wallet/transactions.json", "security-log.json", "README.txt"])
    expect(content.includes(name)).toBe(true);
  await page.goto("/panel/account/log");
  await expect(page.getByRole("cell", { name: "Archive of the data downloaded" })).toBeVisible();
  await page.goto("/panel/account/data");
  await page.getByRole("button", { name: "Delete the archive" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete the archive" }).click();
  await expect(page.getByText("The archive is deleted.")).toBeVisible();
  await expect(page.getByRole("button", { name: "Make an archive" })).toBeVisible();
});

test("a customer closes the account, which a service prevents", async ({ page, customer, expected }) => {
  expected.push("422"); // nobody signs in any more
  await customer.credit(5);
  await page.goto("/panel/account/data");
  await page.route("**/me/closing", async (route) => {
    const answer = await route.fetch();
    const state = (await answer.json()) as object;
    await route.fulfill({
      json: { ...state, can_close: false, obstacles: [{ kind: "services", count: 2, amount: null }] },
    });
  });
  await page.reload();
  await expect(page.getByRole("link", { name: /^2 services/ })).toBeVisible();
  await page.unroute("**/me/closing");
  await page.reload();
  await page.getByRole("button", { name: "Close the account" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/\$5\.00 in your wallet/)).toBeVisible();
  const action = dialog.getByRole("button", { name: "Close the account" });
  await expect(action).toBeDisabled();
  await dialog.getByRole("textbox").fill(customer.email);
  await action.click();
  await page.waitForURL((url) => url.pathname === "/");
  await page.goto("/login");
  await page.locator("[name=email]").fill(customer.email);
  await page.locator("[name=password]").fill(customer.password);
  await page.locator("main form button").first().click();
  await expect(page).toHaveURL(/\/login/);
});
