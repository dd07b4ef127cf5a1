import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import type { Page } from "@playwright/test";

import { expect, test, unique, type Customer } from "./fixture";
import { reader } from "./texts";
import { appoint } from "./visits";

interface Money {
  usd_cents: number;
}

interface Sold {
  id: number;
  domain: string;
  client_ref: string;
  status: string;
  expires_at: string;
  auto_renew: boolean;
  renewal_covered: boolean;
  period_months: number;
  plan: { id: number; slug: string };
  renew_cost: Money;
}

interface Offer {
  id: number;
  slug: string;
  prices: { period_months: number; retail: Money; wholesale: Money }[];
}

/** The plans of hosting as a reseller pays them. */
const offers = async (reseller: Customer) =>
  (await reseller.call<{ data: { type: string; plans: Offer[] }[] }>("GET", "/reseller/catalog")).data
    .filter(({ type }) => type === "hosting")
    .flatMap(({ plans }) => plans);

const available = async (reseller: Customer) =>
  (await reseller.call<{ available: Money }>("GET", "/wallet")).available.usd_cents;

/** Pays into the wallet on the page that is open, and comes back to it. */
async function topUp(page: Page, l: ReturnType<typeof reader>, dollars: string) {
  const money = page.getByRole("region", { name: l("wallet.topup"), exact: true });
  await money.getByRole("textbox").fill(dollars);
  await money.getByRole("button", { name: /\$/ }).click();
  await page.waitForURL(/\/pay\//);
  await page.getByRole("button").first().click();
  await page.waitForURL(/\/panel\/wallet/);
}

// Row 20, its end: a webhook is seen to arrive, and the same calls sell for real.
test("a reseller sees a webhook arrive, goes live, and sells by a key of the live world, in uz", async ({
  page,
  customer,
}) => {
  const l = reader("uz");
  await appoint(customer);
  await customer.call("PATCH", "/me", { locale: "uz" });
  const program = await listen();
  await page.goto("/panel/reseller/start");
  const step = (n: number, name: string) =>
    page.getByRole("region", { name: new RegExp(`^${n}\\. ${l(`reseller.${name}`)}`) });
  const done = (n: number, name: string) =>
    page.getByRole("heading", { name: `${n}. ${l(`reseller.${name}`)} ${l("reseller.step.done")}`, exact: true });
  try {
    const webhook = step(4, "webhook");
    await webhook.getByLabel(l("reseller.endpoint.url")).fill(program.url);
    await webhook.getByRole("button", { name: l("reseller.endpoint.add") }).click();
    const secret = await webhook.getByText(/^whsec_/).innerText();
    await step(2, "service")
      .getByRole("button", { name: l("reseller.service.order") })
      .click();
    await expect(done(2, "service")).toBeVisible();
    await expect(done(4, "webhook")).toBeVisible();

    // What has arrived is signed by the secret, and the page says of it that it arrived.
    await webhook.getByRole("link", { name: l("reseller.webhook.all") }).click();
    const show = l("reseller.events.show_one", { type: "service.provisioned" });
    await page.getByRole("button", { name: show }).click();
    await expect(page.getByRole("dialog").getByText(l("reseller.delivery.success"), { exact: true })).toBeVisible();
    const { headers, body } = program.told.find((one) => one.body.includes('"service.provisioned"'))!;
    const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
    await page.keyboard.press("Escape");
  } finally {
    program.close();
  }

  const pages = page.getByRole("navigation", { name: l("reseller.pages") });
  const begin = () => pages.getByRole("link", { name: l("reseller.title./reseller/start") }).click();
  await begin();
  await expect(done(2, "service")).toBeVisible(); // the page has read what is done
  await expect(done(5, "live")).toHaveCount(0);
  await step(5, "live")
    .getByRole("link", { name: l("reseller.key.manage") })
    .click();
  await page
    .getByRole("button", { name: l("reseller.key.make") })
    .first()
    .click();
  const form = page.getByRole("dialog", { name: l("reseller.key.make") });
  await form.getByLabel(l("reseller.keys.name")).fill("Shop");
  await expect(form.getByRole("radio", { name: l("reseller.keys.world.live") })).toBeChecked(); // that step led here
  await form.getByRole("button", { name: l("reseller.key.make") }).click();
  const made = page.getByRole("dialog", { name: l("reseller.keys.made") });
  const live = await made.getByText(/^rsk_(?!test_)/).innerText();
  await made.getByRole("button", { name: l("ui.secret.kept") }).click();
  await expect(page.getByRole("row", { name: /Shop/ })).toContainText(l("reseller.world.live"));
  await expect(page.getByText(live)).toHaveCount(0);

  await begin();
  await expect(done(5, "live")).toBeVisible();
  await step(5, "live")
    .getByRole("link", { name: l("reseller.live.wallet") })
    .click();
  await topUp(page, l, "20");
  expect(await available(customer)).toBe(2000);

  // The command beside the step is the program's call; with this key it is of the live world.
  await page.goto("/panel/reseller/start");
  const command = await step(2, "service")
    .locator("code")
    .filter({ hasText: /"plan_id":[1-9]/ })
    .innerText();
  const [, address, sent] = /(http\S+) .*-d '([^']+)'/.exec(command) ?? [];
  const call = JSON.parse(sent ?? "") as { domain: string; client_ref: string; plan_id: number };
  const answer = await page.request.post(address ?? "", {
    data: call,
    headers: { Authorization: `Bearer ${live}`, "Idempotency-Key": unique("call") },
  });
  expect(answer.status(), await answer.text()).toBe(201);
  const price = (await offers(customer)).find(({ id }) => id === call.plan_id)?.prices[0]?.wholesale.usd_cents ?? 0;
  expect(price).toBeGreaterThan(0);
  await pages.getByRole("link", { name: l("reseller.title./reseller") }).click();
  await page
    .getByRole("radiogroup", { name: l("reseller.world") })
    .getByText(l("reseller.world.live"), { exact: true })
    .click();
  const row = page.getByRole("row", { name: new RegExp(call.domain.replaceAll(".", "\\.")) });
  await expect(row).toContainText(call.client_ref);
  await expect(row).toContainText(l("reseller.status.active"));
  expect(await available(customer)).toBe(2000 - price);
  const { data } = await customer.call<{ data: Sold[] }>("GET", "/reseller/services");
  expect(data.map(({ domain }) => domain)).toEqual([call.domain]);
});

/** A program of the reseller's that is told of events, and what it was told. */
async function listen() {
  const told: { headers: IncomingMessage["headers"]; body: string }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      told.push({ headers: request.headers, body });
      response.end("ok");
    });
  });
  await new Promise<void>((listens) => server.listen(0, "127.0.0.1", listens));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stead`;
  return { url, told, close: () => server.close() };
}

// Row 21: what renews, whether the wallet pays for it, and what is left of each price.
test("one table tells a reseller what renews, whether it is covered and what is left, by filters and as CSV, in ru", async ({
  page,
  customer,
}) => {
  const l = reader("ru");
  await appoint(customer);
  await customer.call("PATCH", "/me", { locale: "ru" });
  const plans = await offers(customer);
  const offer = (slug: string, months: number) => {
    const plan = plans.find((one) => one.slug === slug);
    const price = plan?.prices.find((one) => one.period_months === months);
    if (!plan || !price) throw new Error(`the demo sells no ${slug} for ${months} months`);
    return { plan: plan.id, retail: price.retail.usd_cents, cost: price.wholesale.usd_cents };
  };
  const sales = [
    { client_ref: "client-1", slug: "start", period_months: 1 },
    { client_ref: "client-2", slug: "business", period_months: 1 },
    { client_ref: "client-2", slug: "start", period_months: 12 },
  ].map((one) => ({ ...one, ...offer(one.slug, one.period_months), domain: unique(one.slug) + ".example.com" }));
  // What is left in the wallet pays for the renewal that comes first, and for no other.
  const costs = sales.reduce((sum, { cost }) => sum + cost, sales[0]?.cost ?? 0);
  await customer.credit(costs / 100);
  const every = async () => (await customer.call<{ data: Sold[] }>("GET", "/reseller/services")).data;
  for (const { plan: plan_id, client_ref, period_months, domain } of sales) {
    const { id } = await customer.call<{ id: number }>(
      "POST",
      "/reseller/services",
      { plan_id, domain, client_ref, period_months },
      { key: unique("sale") },
    );
    await expect.poll(async () => (await every()).find((one) => one.id === id)?.status).toBe("active");
  }

  await page.goto("/panel/reseller");
  const table = page.getByRole("table", { name: l("reseller.title./reseller") });
  const row = (domain: string) => table.getByRole("row").filter({ hasText: domain });
  const shown = async (...domains: (string | undefined)[]) => {
    await expect(table.getByRole("link")).toHaveCount(domains.length);
    for (const domain of domains) await expect(row(domain ?? "")).toBeVisible();
  };
  const dollars = (cents: number) =>
    new Intl.NumberFormat("ru", { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" }).format(
      cents / 100,
    );
  const [shop, mail, year] = sales.map(({ domain }) => domain);
  await shown(shop, mail, year);
  for (const { domain, client_ref, slug, cost, retail } of sales) {
    const cells = [
      client_ref,
      slug,
      l("reseller.status.active"),
      dollars(cost),
      dollars(retail),
      dollars(retail - cost),
    ];
    for (const text of [...cells, "(10"]) await expect(row(domain)).toContainText(text);
  }
  const covered = (text: "covered" | "covered_not", ...domains: (string | undefined)[]) =>
    Promise.all(
      domains.map((domain) =>
        expect(row(domain ?? "").getByText(l(`reseller.${text}`), { exact: true })).toBeVisible(),
      ),
    );
  await covered("covered", shop);
  await covered("covered_not", mail, year);
  expect((await every()).filter((one) => one.renewal_covered).map(({ domain }) => domain)).toEqual([shop]);

  // Each filter alone; another click takes it back.
  const client = page.getByLabel(l("reseller.filter.client"));
  const text = page.getByLabel(l("reseller.filter.q"));
  const state = page.getByLabel(l("reseller.filter.status"));
  const days = page.getByLabel(l("reseller.filter.renews"));
  await client.fill("client-2");
  await text.click(); // which leaves the field
  await shown(mail, year);
  await expect(page).toHaveURL(/client_ref=client-2/);
  await days.selectOption("90");
  await shown(mail);
  await page.reload();
  await shown(mail);
  await expect(client).toHaveValue("client-2");
  await client.fill("");
  await text.click();
  await shown(shop, mail);
  await days.selectOption("7");
  await expect(page.getByText(l("reseller.none.filtered"))).toBeVisible();
  await days.selectOption("");
  await shown(shop, mail, year);
  await text.fill(year?.slice(0, -4) ?? "");
  await client.click();
  await shown(year);
  await text.fill("");
  await client.click();
  await shown(shop, mail, year);

  // One is suspended here, and found by its state.
  await row(mail ?? "")
    .getByRole("link")
    .click();
  await page.getByRole("button", { name: l("reseller.suspend"), exact: true }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: l("reseller.suspend"), exact: true })
    .click();
  await expect(page.getByText(l("reseller.suspended"))).toBeVisible();
  const pages = page.getByRole("navigation", { name: l("reseller.pages") });
  await pages.getByRole("link", { name: l("reseller.title./reseller") }).click();
  await state.selectOption("suspended");
  await shown(mail);
  await state.selectOption("active");
  await shown(shop, year);

  // The file has what the filter leaves, with amounts in dollars.
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: l("reseller.csv") }).click();
  let file = "";
  for await (const piece of await (await download).createReadStream()) file += String(piece);
  const [head, ...lines] = file.trimEnd().split("\r\n");
  expect(head).toBe(
    "client_ref,service_id,domain,plan,status,expires_at,auto_renew,renewal_covered,renew_cost_usd,retail_usd,margin_usd",
  );
  const bare = (cents: number) => (cents / 100).toFixed(2);
  const wanted = (await every())
    .filter(({ status }) => status === "active")
    .map((one) => {
      const { cost = 0, retail = 0 } = sales.find(({ domain }) => domain === one.domain) ?? {};
      return [
        ...[one.client_ref, one.id, one.domain, one.plan.slug, one.status, one.expires_at],
        ...[one.auto_renew, one.renewal_covered, bare(cost), bare(retail), bare(retail - cost)],
      ].join(",");
    });
  expect(lines).toEqual(wanted);
  expect(lines).toHaveLength(2);

  // With money in the wallet everything is covered.
  await page.goto("/panel/wallet");
  await topUp(page, l, "100");
  await page.goto("/panel/reseller");
  await covered("covered", shop, year);
});
