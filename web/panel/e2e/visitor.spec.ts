import type { Page } from "@playwright/test";

import { Customer, expect, test, unique } from "./fixture";
import { reader } from "./texts";

test.use({ locale: "ru-RU" });

interface Price {
  period_months: number;
  price: { usd_cents: number };
  first_period_price: { usd_cents: number } | null;
}

/** What the card of a plan in the shop front says of its prices. */
const cardOf = (page: Page, plan: string) =>
  page.getByRole("article").filter({ has: page.getByRole("heading", { name: plan, exact: true }) });

/** The digits of a price of the shop front, which writes each currency in one way: of dollars they are cents. */
const digits = (text: string) => Number(text.replace(/\D/g, ""));

/** An amount as the panel writes it in Russian. */
const dollars = (cents: number) =>
  new Intl.NumberFormat("ru", { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" }).format(
    cents / 100,
  );

// Row 1: the price that is compared is that of the order, of its payment and of each renewal.
test("a visitor compares plans and periods, and pays what was shown, in ru", async ({ page }) => {
  const l = reader("ru");
  await page.goto("/");
  await page.getByRole("link", { name: "Выбрать тариф" }).click();
  const card = cardOf(page, "Бизнес");
  const year = card.getByRole("link", { name: /^за 12 месяцев: / });
  const first = digits(await card.locator(".price strong").innerText());
  const later = digits(await card.locator(".hint").innerText());
  const yearly = digits((await year.innerText()).split(":")[1] ?? "");
  expect(first).toBeLessThan(later);

  // Limits side by side.
  await page.getByText("Сравнить все лимиты").first().click();
  const limits = page.getByRole("table").first();
  await expect(limits.getByRole("columnheader")).toHaveText(["Старт", "Бизнес", "Про"]);
  const disk = limits.getByRole("row", { name: /^Диск/ }).getByRole("cell");
  expect(await disk.allInnerTexts()).toEqual(["5 ГБ", "20 ГБ", "60 ГБ"]);
  await expect(card.getByRole("listitem").filter({ hasText: /^Диск: 20 ГБ$/ })).toBeVisible();

  // A period is chosen in the shop front, and is still chosen when the account is there.
  await year.click();
  await page.locator("[name=name]").fill("Anna Karimova");
  const email = unique("anna") + "@example.com";
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill("correct horse battery staple 7");
  await page.locator("main form button").first().click();
  await expect(page.getByRole("heading", { level: 1, name: l("order.title") })).toBeVisible();
  await expect(page.getByRole("radio", { name: /Бизнес/ })).toBeChecked();
  const periods = page.getByRole("radiogroup", { name: l("order.step.period") });
  const period = (count: number) =>
    periods.getByRole("radio", { name: new RegExp(`^${l("order.months", { count })}`) });
  await expect(period(12)).toBeChecked();
  const summary = page.getByRole("region", { name: l("order.summary") });
  await expect(summary).toContainText(dollars(yearly));
  await expect(summary).toContainText(l("order.later", { count: 12, price: dollars(yearly) }));

  // The cheaper beginning: what is paid today, and what each month costs afterwards.
  await period(1).check();
  await expect(summary).toContainText(dollars(first));
  await expect(summary).toContainText(l("order.later", { count: 1, price: dollars(later) }));
  const domain = unique("lavka") + ".example.com";
  await page.getByLabel(l("order.domain.field")).fill(domain);
  await page.getByRole("button", { name: l("order.continue"), exact: true }).click();
  await expect(page.getByText(l("order.item.first", { price: dollars(later) }))).toBeVisible();
  await page.getByRole("button", { name: /\$/ }).click();
  await page.waitForURL(/\/pay\//);
  await page.getByRole("button").first().click();
  await page.waitForURL(/\/panel\/orders\//);
  await page.getByRole("button", { name: l("order.pay.now", { amount: dollars(first) }), exact: true }).click();
  await expect(page.getByText(l("order.completed"))).toBeVisible();

  // What the interface says of it.
  const customer = new Customer(email, "", page.context().request);
  const { data } = await customer.call<{ data: { type: string; plans: { slug: string; prices: Price[] }[] }[] }>(
    "GET",
    "/catalog",
  );
  const prices = data.flatMap(({ plans }) => plans).find(({ slug }) => slug === "business")?.prices ?? [];
  const [month, ofYear] = [1, 12].map((count) => prices.find((one) => one.period_months === count));
  expect([month?.first_period_price?.usd_cents, month?.price.usd_cents, ofYear?.price.usd_cents]).toEqual([
    first,
    later,
    yearly,
  ]);
  const { data: orders } = await customer.call<{ data: { total: { usd_cents: number }; service_id: number }[] }>(
    "GET",
    "/orders",
  );
  expect(orders.map(({ total }) => total.usd_cents)).toEqual([first]);
  const service = await customer.call<{ renew_price: { usd_cents: number } }>(
    "GET",
    `/services/${orders[0]?.service_id}`,
  );
  expect(service.renew_price.usd_cents).toBe(later);
});

// Row 1: prices are read in the visitor's currency, also after registering.
test("a visitor sees prices in soʻm, and so does the account that is made, in ru", async ({ page }) => {
  const l = reader("ru");
  await page.goto("/");
  const price = cardOf(page, "Старт").locator(".price strong");
  await expect(price).toHaveText(/^\$/);
  const choice = page.getByRole("navigation", { name: "Валюта" });
  await choice.getByRole("link", { name: "UZS" }).click();
  await expect(choice.getByRole("link", { name: "UZS" })).toHaveAttribute("aria-current", "true");
  await expect(price).toHaveText(/soʻm$|сум$/);
  const first = digits(await price.innerText());
  await page.goto("/"); // the choice stays
  expect(digits(await price.innerText())).toBe(first);

  await page.getByRole("link", { name: "Заказать Старт" }).click();
  await page.locator("[name=name]").fill("Anna Karimova");
  const email = unique("anna") + "@example.com";
  await page.locator("[name=email]").fill(email);
  await page.locator("[name=password]").fill("correct horse battery staple 7");
  await page.locator("main form button").first().click();
  const summary = page.getByRole("region", { name: l("order.summary") });
  await expect(summary).toContainText(`${new Intl.NumberFormat("ru").format(first)} сум`);
  const me = await new Customer(email, "", page.context().request).call<{ currency: string }>("GET", "/me");
  expect(me.currency).toBe("UZS");
  await page.goto("/");
  expect(digits(await price.innerText())).toBe(first);
  await expect(choice).toHaveCount(0); // the profile has it
});
