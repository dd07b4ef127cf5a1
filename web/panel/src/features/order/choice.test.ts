import { expect, test } from "vitest";

import type { Addon, Plan } from "./api";
import { addonPrice, domainProblem, isAgreed, readAddons, readChoice, saving, writeAddons } from "./choice";

const usd = (cents: number) => ({ usd_cents: cents, amount: cents, currency: "USD", display: "" });
const plan = {
  prices: [1, 12].map((months) => ({
    period_months: months,
    price: usd(months === 1 ? 299 : 2990),
    first_period_price: null,
    setup: usd(0),
  })),
} as unknown as Plan;

test("the longer period saves", () => {
  expect(plan.prices.map((price) => saving(plan, price))).toEqual([0, 16]);
});

test("an address may hold anything", () => {
  expect(readChoice({ plan: 7, period: "x", register: "1", domain: {}, coupon: "" })).toEqual({
    plan: "7",
    period: undefined,
    domain: undefined,
    register: true,
    addons: undefined,
    coupon: undefined,
  });
});

test("extras go through the address and back", () => {
  expect(readAddons("disk:2,backup,bad key:1,ip:0")).toEqual({ disk: 2, backup: 1, ip: 1 });
  expect(writeAddons({ disk: 2, backup: 1, none: 0 })).toBe("disk:2,backup");
  expect(writeAddons({})).toBeUndefined();
});

test("an extra without a price for the period is bought as often as it takes", () => {
  const addon = {
    prices: [1, 12].map((months) => ({ period_months: months, price: usd(months * 100) })),
  } as unknown as Addon;
  expect(addonPrice(addon, 24)).toEqual({ price: usd(1200), count: 2 });
  expect(addonPrice(addon, 6)).toEqual({ price: usd(100), count: 6 });
});

test.each([
  ["300", true],
  ["301", true],
  ["299", false],
  [null, false],
])("charges of 300 cents where %j were agreed to", (agreed, want) => {
  expect(isAgreed([usd(100), usd(200)], agreed)).toBe(want);
});

test.each([
  ["example.com", null],
  ["shop.example.com", null],
  ["доставка.рф", null],
  ["https://Example.com/index.html", null],
  ["www.example.com", "domain.www"],
  ["example", "domain.form"],
  ["exa mple.com", "domain.form"],
  ["-a.com", "domain.form"],
  ["1.2.3.4", "domain.form"],
  ["", "domain.empty"],
])("the name %j of a site", (typed, problem) => {
  expect(domainProblem(typed)).toBe(problem);
});
