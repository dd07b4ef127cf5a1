import type { Page } from "@playwright/test";

import { expect, stead, test, unique } from "./fixture";
import { like, reader } from "./texts";

/** Says who owns the domain that is ordered. */
async function fillOwner(page: Page) {
  await page.getByLabel("Phone").fill("+998 90 123-45-67");
  await page.getByLabel("Street and house").fill("Navoiy 1");
  await page.getByLabel("City").fill("Tashkent");
  await page.getByLabel("Country, two letters").fill("uz");
}

// From the first click on the shop front to a served site, as somebody who has never been here.
test("a visitor registers, orders, pays and sees the site come up", async ({ page }) => {
  const began = Date.now();
  await page.goto("/");
  await page.getByRole("link", { name: "Order Start" }).click();
  await page.locator("[name=name]").fill("Anna Karimova");
  await page.locator("[name=email]").fill(unique("anna") + "@example.com");
  await page.locator("[name=password]").fill("correct horse battery staple 7");
  await page.locator("main form button").first().click();

  await expect(page.getByRole("heading", { level: 1, name: "Order a service" })).toBeVisible();
  await expect(page.getByRole("radio", { name: /Start/ })).toBeChecked();
  const domain = unique("shop") + ".example.com";
  await page.getByLabel("Name of the site").fill(domain);
  await expect(page.getByText("Then $2.99 each month.")).toBeVisible();
  await page.getByRole("button", { name: "Go to payment" }).click();

  // The wallet is empty: what is missing is paid in, and the payment page leads back.
  await expect(page.getByRole("heading", { level: 1, name: /^Order ORD-/ })).toBeVisible();
  await page.getByRole("button", { name: /^Pay \$/ }).click();
  await page.waitForURL(/\/pay\//);
  await page.getByRole("button").first().click();
  await page.waitForURL(/\/panel\/orders\//);
  await page.getByRole("button", { name: "Pay $0.99" }).click();
  await expect(page.getByText("Done. Your site is up.")).toBeVisible({ timeout: 60_000 });
  expect(Date.now() - began, "milliseconds").toBeLessThan(120_000);

  await page.getByRole("link", { name: "Open the service" }).click();
  await expect(page.getByRole("heading", { level: 1, name: domain })).toBeVisible();
});

test("a choice outlives a reload, and an unknown coupon is said beside its field", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("422");
  expect(customer.email).toContain("@");
  await page.goto("/panel/order?plan=business&period=12&domain=shop.example.com");
  await page.getByRole("checkbox", { name: "10 GB of disk" }).check();
  await page.getByLabel("Coupon").fill("NOTHING");
  await page.getByLabel("Coupon").blur();
  await page.reload();
  await expect(page.getByRole("radio", { name: /12 months/ })).toBeChecked();
  await expect(page.getByRole("checkbox", { name: "10 GB of disk" })).toBeChecked();
  await page.getByRole("button", { name: "Go to payment" }).click();
  await expect(page.getByLabel("Coupon")).toHaveAccessibleDescription(/.+/);
});

test("the button names the whole sum, and the extra that was chosen follows by itself", async ({ page, customer }) => {
  await customer.credit(200);
  await page.goto(`/panel/order?plan=business&period=1&domain=${unique("shop")}.example.com`);
  await page.getByRole("checkbox", { name: "10 GB of disk" }).check();
  await page.getByRole("button", { name: "Go to payment" }).click();
  const payment = page.getByRole("region", { name: "Payment" });
  await expect(payment.getByText("Extras, when the service stands")).toBeVisible();
  const together = /Together\s*(\$[\d.]+)/.exec(await payment.innerText())?.[1] ?? "no sum";
  await payment.getByRole("button", { name: `Pay ${together}` }).click();
  await expect(page.getByText("Added", { exact: true })).toBeVisible({ timeout: 60_000 });
});

test("renewing, another plan and an extra show the price before the click", async ({ page, customer }) => {
  const service = await customer.service({ plan: 0 });
  await page.goto(`/panel/services/${service}/plan`);
  await page.getByRole("button", { name: "Renew now" }).click();
  const renewal = page.getByRole("dialog");
  await renewal.getByRole("button", { name: /^Pay \$/ }).click();
  await expect(page.getByText("The service is renewed")).toBeVisible();

  await page.getByRole("button", { name: "Change to Business" }).click();
  const move = page.getByRole("dialog");
  await expect(move.getByText(/You pay \$.* now for the time that is left/)).toBeVisible();
  await move.getByRole("button", { name: /^Pay \$/ }).click();
  await expect(page.getByText("The plan is Business now")).toBeVisible();

  await page.getByRole("button", { name: "Add: 10 GB of disk" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Pay \$/ })
    .click();
  await expect(page.getByText("10 GB of disk is added")).toBeVisible();
});

test("the wallet shows what was bought, and its invoice opens as a PDF, in ru", async ({ page, customer }) => {
  const l = reader("ru");
  await customer.service({ plan: 0 });
  await customer.call("PATCH", "/me", { locale: "ru" });
  await page.goto("/panel/wallet");
  const movements = page.getByRole("table", { name: l("wallet.movements") });
  await expect(movements.getByText(l("wallet.type.charge")).first()).toBeVisible();
  const days = page.getByRole("list", { name: l("wallet.chart", { count: 30 }) }).getByRole("listitem");
  await expect(days).toHaveCount(30);
  const last = await movements.getByRole("row").nth(1).getByRole("cell").last().innerText();
  await expect(days.last()).toContainText(`: ${last}`);
  await page.getByLabel(l("wallet.filter.type")).selectOption("refund");
  await expect(page.getByText(l("wallet.none.filtered"))).toBeVisible();
  await page.goto("/panel/invoices?kind=invoice");
  await page.getByRole("table").getByRole("link").first().click();
  await expect(page.getByRole("heading", { level: 1, name: like(`${l("invoices.kind.invoice")} §`) })).toBeVisible();
  const answer = page.context().waitForEvent("response", (one) => one.url().includes("format=pdf"));
  await page.getByRole("link", { name: l("invoices.pdf") }).click();
  expect((await answer).headers()["content-type"]).toBe("application/pdf");
  const content = await page.request.get((await answer).url(), { headers: { "Sec-Fetch-Site": "same-origin" } });
  expect((await content.body()).subarray(0, 5).toString()).toBe("%PDF-");
});

test("a domain is registered, locked and given name servers", async ({ page, customer }) => {
  await customer.credit(50);
  const name = unique("name") + ".com";
  await page.goto("/panel/domains/new");
  await page.getByLabel("Domain", { exact: true }).fill(name);
  await page.locator("#page").getByRole("button", { name: "Search" }).click();
  await expect(page.getByText(`${name} is free`)).toBeVisible();
  await fillOwner(page);
  await page.getByRole("button", { name: /^Pay \$/ }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  const lock = page.getByRole("switch", { name: "Lock" });
  await expect(lock).toBeEnabled();
  const locked = await lock.isChecked();
  await lock.click();
  await expect(lock).toBeChecked({ checked: !locked });
  await page.getByLabel("One a line", { exact: true }).fill("ns1.example.net\nns2.example.net");
  await page.getByRole("region", { name: "Name servers" }).getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The registry has the name servers")).toBeVisible();
});

test("a domain costs what its button says, and is paid once when an answer is lost", async ({
  page,
  customer,
  expected,
}) => {
  expected.push("ERR_FAILED", "422");
  await customer.credit(50);
  await stead("admin", "resellers", "appoint", customer.email, "--tier", "silver", "--discount", "10");
  await page.goto(`/panel/domains/new?name=${unique("name")}.com`);
  await fillOwner(page);
  const pay = page.getByRole("button", { name: "Pay $10.50" }); // wholesale
  const balance = async () =>
    (await customer.call<{ available: { usd_cents: number } }>("GET", "/wallet")).available.usd_cents;

  // Another price than that of the button is not paid.
  await page.route("**/api/v1/domains", async (route) => {
    const body = route.request().postDataJSON() as { expected_usd_cents: number };
    expect(body.expected_usd_cents).toBe(1050);
    await route.continue({ postData: JSON.stringify({ ...body, expected_usd_cents: 1049 }) });
  });
  await pay.click();
  await expect(page.getByText("The price has changed")).toBeVisible();
  expect(await balance()).toBe(5000);
  await page.unroute("**/api/v1/domains");

  await page.route("**/api/v1/domains", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await pay.click();
  await expect(page.getByText("The server cannot be reached")).toBeVisible();
  await page.unroute("**/api/v1/domains");
  await pay.click();
  await expect(page).toHaveURL(/\/domains\/\d+$/);
  expect(await balance()).toBe(5000 - 1050);
});

// The server under test taxes nobody: what it says of the account's tax is made up.
test("a button and what is missing have the tax that is added, and the price that is agreed to has not", async ({
  page,
  customer,
}) => {
  await page.route("**/api/v1/me/billing", async (route) => {
    const answer = await route.fetch();
    const profile = (await answer.json()) as object;
    await route.fulfill({ json: { ...profile, tax_name: "QQS", tax_rate: 12, tax_included: false } });
  });
  await page.goto(`/panel/domains/new?name=${unique("name")}.com`);
  const free = (await page.getByText(/is free: \$/).textContent()) ?? "";
  const net = Math.round(Number(/\$([\d.]+) for the first year/.exec(free)?.[1]) * 100);
  const tax = Math.floor((net * 12 + 50) / 100);
  const dollars = (cents: number) => `$${(cents / 100).toFixed(2)}`;
  await expect(page.getByText(`With ${dollars(tax)} of tax (QQS)`)).toBeVisible();
  await customer.credit(net / 100);
  await page.reload();
  await expect(page.getByText(`It costs ${dollars(net + tax)}, and your wallet has ${dollars(net)}.`)).toBeVisible();
  await customer.credit(tax / 100);
  await page.reload();
  await fillOwner(page);
  const order = page.waitForRequest((request) => request.method() === "POST" && request.url().endsWith("/v1/domains"));
  await page.getByRole("button", { name: `Pay ${dollars(net + tax)}` }).click();
  expect((await order).postDataJSON()).toMatchObject({ expected_usd_cents: net });
});

test("prices in soʻm are those that the server tells", async ({ page, customer }) => {
  await customer.call("PATCH", "/me", { currency: "UZS" });
  const { data } = await customer.call<{
    data: { type: string; plans: { prices: { price: { currency: string; display: string } }[] }[] }[];
  }>("GET", "/catalog");
  const price = data.find((product) => product.type === "hosting")?.plans[0]?.prices[0]?.price;
  expect(price?.currency).toBe("UZS");
  await page.goto("/panel/order?lang=uz");
  await expect(page.getByText(price?.display ?? "").first()).toBeVisible();
});

// Row 13: money that comes by itself, and what came and went as a file.
test("a means of payment is kept, the wallet tops itself up from it, and movements are saved", async ({
  page,
  customer: _,
}) => {
  await page.goto("/panel/wallet");
  const money = page.getByRole("region", { name: "Top up" });
  await money.getByLabel("Amount in US dollars").fill("15");
  await money.getByLabel("Keep this means of payment for automatic top-ups").check();
  await money.getByRole("button", { name: /^Pay \$/ }).click();
  await page.waitForURL(/\/pay\//);
  await page.getByRole("button").first().click();
  await page.waitForURL(/\/panel\/wallet/);
  await expect(page.getByText("$15.00 is in your wallet")).toBeVisible();

  await page.getByRole("switch", { name: "Top up by itself" }).check();
  await page.getByLabel("When the balance falls below").fill("5");
  await page.getByLabel("Pay in").fill("3");
  const auto = page.getByRole("region", { name: "Automatic top-up" });
  await auto.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("At least as much as the balance below which it happens.")).toBeVisible();
  await page.getByLabel("Pay in").fill("20");
  await auto.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("The wallet tops itself up from now on")).toBeVisible();

  const file = page.waitForEvent("download");
  await page
    .getByRole("link", { name: "Download as CSV" })
    .or(page.getByRole("button", { name: "Download as CSV" }))
    .click();
  const saved = await (await file).createReadStream();
  let text = "";
  for await (const piece of saved) text += String(piece);
  expect(text).toContain("topup");
});

// The rest of row 14.
test("a domain is moved here with its code", async ({ page, customer }) => {
  await customer.credit(100);
  const name = "slow-" + unique("name") + ".com";
  await page.goto("/panel/domains/new");
  await page.getByText("Transfer mine here").click();
  await page.getByLabel("Domain", { exact: true }).fill(name);
  await page.locator("#page").getByRole("button", { name: "Continue" }).click();
  await page.getByLabel("Transfer code").fill("secret-code");
  await fillOwner(page);
  await page.getByRole("button", { name: /^Pay \$/ }).click();
  await expect(page.getByRole("heading", { level: 1, name })).toBeVisible();
  await expect(page.getByText("The domain is on its way here")).toBeVisible();
});

test("a domain is renewed, signed, given a contact and made ready to leave, in uz", async ({ page, customer }) => {
  const l = reader("uz");
  await customer.credit(100);
  const name = unique("name") + ".com";
  const contact = {
    name: "Anna Karimova",
    email: customer.email,
    phone: "+998901234567",
    street: "Navoiy 1",
    city: "Tashkent",
    country: "UZ",
  };
  const { id } = await customer.call<{ id: number }>(
    "POST",
    "/domains",
    { domain: name, years: 1, contact },
    { key: unique("domain") },
  );
  const is = async () => (await customer.call<{ status: string }>("GET", `/domains/${id}`)).status;
  await expect.poll(is).toBe("active");
  await customer.call("PATCH", "/me", { locale: "uz" });
  await page.goto(`/panel/domains/${id}`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: l("domains.renew"), exact: true }).click();
  await dialog.getByRole("button", { name: like(l("domains.pay", { amount: "§" })) }).click();
  await expect(page.getByText(l("domains.renew.begun", { name }))).toBeVisible();

  const signing = page.getByRole("region", { name: "DNSSEC" });
  const field = signing.getByLabel(l("domains.dnssec.field"));
  await field.fill("12345 13 2 0a1b");
  await signing.getByRole("button", { name: l("domains.save") }).click();
  await expect(signing.getByText(l("domains.dnssec.wrong", { line: "12345 13 2 0a1b" }))).toBeVisible();
  await field.fill("12345 13 2 " + "0A1B".repeat(16));
  await signing.getByRole("button", { name: l("domains.save") }).click();
  await expect(page.getByText(l("domains.dnssec.done"), { exact: true })).toBeVisible();

  await page.getByRole("button", { name: l("domains.contacts.change") }).click();
  await dialog.getByLabel(l("domains.contacts.role")).selectOption(l("domains.role.tech"));
  for (const [key, value] of Object.entries(contact)) {
    await dialog.getByRole("textbox", { name: l(`contact.${key}`), exact: true }).fill(value);
  }
  await dialog.getByRole("button", { name: l("domains.save") }).click();
  await expect(page.getByText(l("domains.contacts.done"))).toBeVisible();

  // No registry lets a domain leave in its first 60 days: the page says until when, and offers no code that it would not get.
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await customer.call("PATCH", `/domains/${id}`, { locked: false });
  await page.reload(); // without the notices of what was done
  const leaving = page.getByRole("region", { name: l("domains.leaving") });
  const { transfer_lock_until: until } = await customer.call<{ transfer_lock_until: string }>("GET", `/domains/${id}`);
  expect((Date.parse(until) - Date.now()) / 86_400_000).toBeCloseTo(60, 0);
  await expect(leaving.getByText(l("domains.leaving.lock"))).toBeVisible();
  await expect(leaving.locator(`time[datetime="${until}"]`)).toBeVisible();
  const show = leaving.getByRole("button", { name: l("domains.code.get") });
  await expect(show).toHaveCount(0);
  // An older one is played here: locked by its owner, and then open.
  let locked = true;
  await page.route(`**/api/v1/domains/${id}`, async (route) => {
    const json = (await (await route.fetch()).json()) as object;
    await route.fulfill({ json: { ...json, transfer_lock_until: "2026-01-01T00:00:00Z", locked } });
  });
  await page.reload();
  await expect(leaving.getByText(l("domains.leaving.locked"))).toBeVisible();
  await expect(show).toHaveCount(0);
  locked = false;
  await page.reload();
  await page.route(`**/api/v1/domains/${id}/auth-code`, (route) =>
    route.fulfill({ json: { auth_code: "Xk7-code-42" } }),
  );
  await show.click();
  await expect(leaving.getByText("Xk7-code-42", { exact: true })).toBeVisible();
  await leaving.getByRole("button", { name: l("ui.copy_what", { what: l("domains.code") }) }).click();
  await expect(leaving.getByRole("button", { name: l("ui.copied") })).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("Xk7-code-42");
});

// Row 12: bring back.
test("a service that has ended is brought back", async ({ page, customer }) => {
  const id = await customer.service({ plan: 0 });
  const { domain } = await customer.call<{ domain: string }>("GET", `/services/${id}`);
  await stead("admin", "resellers", "appoint", customer.email, "--tier", "silver", "--discount", "10");
  await customer.call("DELETE", `/reseller/services/${id}?when=now`); // as an owner ends a service at once
  const status = async () => (await customer.call<{ status: string }>("GET", `/services/${id}`)).status;
  await expect.poll(status, { timeout: 120_000 }).toBe("terminated");
  await page.goto(`/panel/services/${id}`);
  await expect(page.getByText("Its final backup is still kept")).toBeVisible();
  await page.getByRole("button", { name: "Bring back" }).click();
  const dialog = page.getByRole("dialog", { name: `Bring ${domain} back` });
  await expect(dialog.getByText("It costs nothing: it is paid until")).toBeVisible();
  await dialog.getByRole("button", { name: "Bring back" }).click();
  await expect(page.getByText("The service comes back")).toBeVisible();
  await expect.poll(status, { timeout: 120_000 }).toBe("active");
  await expect(page.getByText("Its final backup is still kept")).toHaveCount(0);
});
