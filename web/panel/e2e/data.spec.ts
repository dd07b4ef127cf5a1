import { readFile } from "node:fs/promises";

import { expect, stead, test } from "./fixture";

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

// What the page says has to be done can be done, and is enough.
test("a customer ends the service, and closes the account when it is over", async ({ page, customer }) => {
  const id = await customer.service({ plan: 0 });
  await page.goto("/panel/account/data");
  await page.getByRole("link", { name: /^1 service: press “End this service” on its page “Plan and renewal”/ }).click();
  await page.goto(`/panel/services/${id}/plan`);
  const ending = page.getByRole("region", { name: "End this service" });
  await ending.getByRole("button", { name: "End this service" }).click();
  const dialog = page.getByRole("dialog", { name: "End this service" });
  for (const course of [/^Paid until/, /^Its site goes offline on/, /^The service is over/, /^Its last backup is kept/])
    await expect(dialog.getByText(course)).toBeVisible();
  await dialog.getByRole("button", { name: "End this service" }).click();
  await expect(page.getByText("The service ends with its paid time", { exact: true })).toBeVisible();
  await expect(page.getByRole("switch", { name: "Renew by itself" })).not.toBeChecked();
  await expect(ending.getByText(/^The service is over/)).toBeVisible();

  // Its time passes; staff do at once what the days of grace and suspension do.
  await stead("admin", "services", "suspend", String(id), "--reason", "manual");
  await stead("admin", "services", "terminate", String(id));
  const status = async () => (await customer.call<{ status: string }>("GET", `/services/${id}`)).status;
  await expect.poll(status, { timeout: 120_000 }).toBe("terminated");
  await page.goto("/panel/account/data");
  await page.getByRole("button", { name: "Close the account" }).click();
  const closing = page.getByRole("dialog");
  await closing.getByRole("textbox").fill(customer.email);
  await closing.getByRole("button", { name: "Close the account" }).click();
  await page.waitForURL((url) => url.pathname === "/");
});
