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

// The mail server of these two is made up: the one under test may have none.
const box = {
  id: 7,
  address: "info@shop.example.com",
  aliases: [],
  forward_to: [],
  autoresponder: { enabled: false, subject: "", body: "", starts_at: null, ends_at: null },
  keep_copy: true,
  catch_all: false,
  spam_threshold: 6,
  protocols: { imap: true, pop3: true, smtp_out: true },
  quota_mb: 1024,
  used_mb: 0,
  messages: 0,
  send_limit_per_hour: 100,
  status: "pending",
  status_reason: null,
  client: null,
  dns: null,
  domain_id: 1,
  last_login_at: null,
  measured_at: null,
  created_at: "2026-11-01T00:00:00Z",
};
const list = (...data: unknown[]) => ({ data, meta: { page: 1, per_page: 50, total: data.length, last_page: 1 } });

test("the password of a new mailbox is shown, also when the mailbox is on another page of the list", async ({
  page,
  customer,
}) => {
  await page.route(/\/mailboxes(\?.*)?$/, (route) =>
    route.request().method() === "POST"
      ? route.fulfill({ status: 201, json: box })
      : route.fulfill({ json: list({ ...box, id: 8, address: "anna@shop.example.com", status: "active" }) }),
  );
  await page.goto(`/panel/services/${await customer.service()}/mail`);
  await page.getByRole("button", { name: "New mailbox" }).first().click();
  const dialog = page.getByRole("dialog", { name: "New mailbox" });
  await dialog.getByLabel("Address").fill("info");
  const password = await dialog.getByLabel("Password", { exact: true }).inputValue();
  await dialog.getByRole("button", { name: "New mailbox" }).click();
  const connect = page.getByRole("dialog", { name: box.address });
  await expect(connect.getByText("The password, shown this once")).toBeVisible();
  await expect(connect.getByText(password)).toBeVisible();
});

test("saving the settings of a mailbox leaves its suspension as it is", async ({ page, customer }) => {
  const changes: Record<string, unknown>[] = [];
  await page.route(/\/mailboxes(\/\d+)?(\?.*)?$/, (route) => {
    if (route.request().method() === "GET") return route.fulfill({ json: list({ ...box, status: "failed" }) });
    changes.push(route.request().postDataJSON() as Record<string, unknown>);
    return route.fulfill({ json: box });
  });
  await page.goto(`/panel/services/${await customer.service()}/mail`);
  const dialog = page.getByRole("dialog", { name: box.address });
  const settings = page.getByRole("button", { name: `Settings of ${box.address}` });
  await settings.click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  await settings.click();
  await dialog.getByRole("switch", { name: "Pause this mailbox" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await expect(dialog).toBeHidden();
  expect(changes.map(({ suspended }) => suspended)).toEqual([undefined, true]);
});
