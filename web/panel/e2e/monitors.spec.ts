import { expect, test } from "./fixture";

// Row 15 of the tasks: a monitor with alerts, an outage's story, the badge.
test("a job that calls is watched: the call, an outage with its cause, and the badge", async ({ page, customer }) => {
  await customer.service(); // its plan allows monitors
  await page.goto("/panel/monitors");
  await expect(page.getByRole("heading", { level: 1, name: "Monitors" })).toBeFocused();
  await page.getByRole("button", { name: "New monitor" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New monitor" });
  await dialog.getByLabel("Address").fill("shop");
  await dialog.getByLabel("Address").blur();
  await expect(dialog.getByText("An address with http:// or https://")).toBeVisible();
  await dialog.getByLabel("What is watched").selectOption("Job that calls");
  await expect(dialog.getByLabel("Address")).toBeHidden();
  await dialog.getByLabel("Name").fill("Nightly");
  await dialog.getByRole("button", { name: "New monitor" }).click();

  await expect(page.getByRole("heading", { level: 1, name: "Nightly" })).toBeVisible();
  await expect(page.getByText("Waits for the first call")).toBeVisible();
  const { data } = await customer.call<{ data: { name: string; push_url: string | null }[] }>("GET", "/monitors");
  const call = data.find((monitor) => monitor.name === "Nightly")?.push_url ?? "";
  await expect(page.getByText(call)).toBeVisible();
  const { pathname } = new URL(call);
  await page.request.get(pathname);
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("main").getByText("Up", { exact: true }).first()).toBeVisible({ timeout: 1000 });
  }).toPass();
  await page.request.get(`${pathname}/1`);
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("row", { name: /It called with an exit code/ }).first()).toBeVisible({ timeout: 1000 });
  }).toPass();
  await expect(page.getByRole("img", { name: "Nightly: uptime" })).toBeVisible();
  await page.getByLabel("It shows").selectOption("state");
  await expect(page.getByText(/!\[Nightly: state\]/)).toBeVisible();
});

test("an alert channel waits for its code", async ({ page, customer, expected }) => {
  expected.push("422");
  await customer.service();
  await page.goto("/panel/monitors");
  await page.getByRole("button", { name: "New channel" }).click();
  const dialog = page.getByRole("dialog", { name: "New channel" });
  await dialog.getByLabel("Mail address").fill(customer.email);
  await dialog.getByRole("button", { name: "New channel" }).click();
  const code = page.getByRole("dialog", { name: "Enter the code" });
  await code.getByLabel("Code").fill("000000");
  await code.getByRole("button", { name: "Confirm" }).click();
  await expect(code.getByText("The code is wrong or too old")).toBeVisible();
  await expect(code.getByLabel("Code")).toHaveValue("000000");
});
