import { expect, stead, test } from "./fixture";

// Rows 20 and 21 of the tasks: the first steps in the sandbox, and the table of what clients have.
test("a reseller orders in the sandbox, moves its clock, sees events and what is left of each price", async ({
  page,
  customer,
}) => {
  await stead("admin", "resellers", "appoint", customer.email, "--tier", "silver", "--discount", "10");
  await page.goto("/panel/reseller/start");
  await expect(page.getByRole("heading", { level: 1, name: "First steps" })).toBeFocused();
  // The first key, by the keyboard alone: it is shown once, and stands in the list without its secret.
  await page.getByRole("link", { name: "Make a key" }).press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Keys" })).toBeFocused();
  await page.getByRole("button", { name: "Make a key" }).press("Enter");
  const form = page.getByRole("dialog", { name: "Make a key" });
  await expect(form.getByLabel("Name")).toBeFocused();
  await page.keyboard.type("Tests");
  await expect(form.getByRole("radio", { name: /the sandbox/ })).toBeChecked();
  await page.keyboard.press("Enter");
  const made = page.getByRole("dialog", { name: "The key is ready" });
  const secret = await made.getByText(/^rsk_test_/).innerText();
  await expect(made.getByRole("button", { name: "Done" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: /Tests/ })).toContainText("Sandbox");
  await expect(page.getByText(secret)).toHaveCount(0);
  await page
    .getByRole("navigation", { name: "Pages of a reseller" })
    .getByRole("link", { name: "First steps" })
    .press("Enter");
  await expect(page.getByText("Tests", { exact: false }).first()).toBeVisible();
  await expect(page.getByRole("heading", { name: "1. A key for the sandbox (done)" })).toBeVisible();

  await page.getByRole("button", { name: "Order it" }).click();
  await expect(page.getByRole("heading", { name: "2. The first service (done)" })).toBeVisible();
  await page.getByRole("button", { name: "30 days forward" }).click();
  await expect(page.getByRole("heading", { name: "3. A month later (done)" })).toBeVisible();
  await expect(page.getByRole("button", { name: "Back to the real time" })).toBeVisible();

  await page.getByRole("link", { name: "All events with their deliveries" }).click();
  await expect(page.getByRole("row", { name: /service\./ }).first()).toBeVisible();
  await page
    .getByRole("button", { name: /^Show service\./ })
    .first()
    .click();
  await expect(page.getByRole("dialog").getByText("No address was told of it.")).toBeVisible();
  await expect(page.getByRole("dialog").getByText("client-42").first()).toBeVisible();
  await page.keyboard.press("Escape");

  await page.getByRole("navigation", { name: "Pages of a reseller" }).getByRole("link", { name: "Clients" }).click();
  const row = page.getByRole("row", { name: /client-42/ });
  await expect(row).toHaveCount(1); // the page before is shown until this one is there
  await expect(row).toContainText("(10%)");
  const file = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save as CSV" }).click();
  expect((await file).suggestedFilename()).toBe("services.csv");
  await row.getByRole("button", { name: /^Link for the client/ }).click();
  await expect(page.getByRole("dialog").getByText(/\/client\//)).toBeVisible();

  // What is done in the panel is in the reseller's trail, without a key.
  const { data } = await customer.call<{ data: { operation: string; key_id: number | null }[] }>(
    "GET",
    "/reseller/audit-log",
    undefined,
    { headers: { "X-Stead-World": "sandbox" } },
  );
  expect(data.find((one) => one.operation === "reseller.services.create")?.key_id).toBeNull();
});

// The rest of row 20: an address is told, and what it missed is sent again.
test("an address is told of what happens, and gets again what it missed", async ({ page, customer }) => {
  await stead("admin", "resellers", "appoint", customer.email, "--tier", "silver", "--discount", "10");
  await page.goto("/panel/reseller/start");
  await page.getByLabel("Address (https)").fill("https://hooks.example.invalid/stead");
  await page.getByRole("button", { name: "Add the address" }).click();
  await expect(page.getByText(/^whsec_/)).toBeVisible();
  await page.getByRole("button", { name: "Order it" }).click();
  await expect(page.getByRole("heading", { name: "2. The first service (done)" })).toBeVisible();
  await page.getByRole("link", { name: "All events with their deliveries" }).click();
  await expect(page.getByRole("table", { name: "Addresses that are told" })).toContainText("hooks.example.invalid");
  await page
    .getByRole("button", { name: /^Show service\./ })
    .first()
    .click();
  const drawer = page.getByRole("dialog");
  // Nobody answers there; how soon that is known depends on the machine's resolver.
  await expect(drawer).toContainText(/Waits|On its way|Failed, is tried again/);
  await drawer.getByRole("button", { name: "Send again" }).first().click();
  await expect(page.getByText("It is on its way again")).toBeVisible();
});
