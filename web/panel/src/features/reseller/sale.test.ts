import { expect, test } from "vitest";

import type { Product } from "./api";
import { backTo, leftOf, planOf, plansOf, priceOf, type Price } from "./sale";

const money = (usd_cents: number, currency = "USD") => ({ usd_cents, amount: usd_cents, currency, display: "" });
const price = (period_months: number) => ({ period_months, wholesale: money(270), retail: money(300) }) as Price;
const products = [
  { type: "vps", plans: [{ slug: "vps", available: true, prices: [price(1)] }] },
  {
    type: "hosting",
    plans: [
      { slug: "gone", available: false, prices: [price(1)] },
      { slug: "free", available: true, prices: [] },
      { slug: "start", available: true, prices: [price(1), price(12)] },
      { slug: "business", available: true, prices: [price(1)] },
    ],
  },
] as unknown as Product[];

test("what can be sold, and what is chosen when nothing is", () => {
  const plans = plansOf(products);
  expect(plans.map((plan) => plan.slug)).toEqual(["start", "business"]);
  expect(planOf(plans, "business")?.slug).toBe("business");
  expect(planOf(plans, "gone")?.slug).toBe("start");
  const start = planOf(plans, undefined);
  expect(start && priceOf(start, 12)?.period_months).toBe(12);
  expect(start && priceOf(start, 5)?.period_months).toBe(1);
});

test("what is left is told in one currency alone", () => {
  expect(leftOf(price(1))).toMatchObject({ usd_cents: 30 });
  expect(leftOf({ ...price(1), retail: money(300, "UZS") } as Price)).toBeNull();
});

test.each([
  [{}, "/reseller/new"],
  [{ plan: "start", period: 12, domain: "a.example" }, "/reseller/new?plan=start&period=12&domain=a.example"],
  [{ plan: "start", client_ref: "Anna & co", domain: "сайт.uz" }, "/reseller/new?plan=start"],
])("the way back of %j", (sale, path) => {
  expect(backTo(sale)).toBe(path);
});
