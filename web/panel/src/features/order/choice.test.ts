import { expect, test } from "vitest";

import type { Addon, Plan } from "./api";
import { addonPrice, domainProblem, isAgreed, isHeld, readAddons, registrationOf, saving, writeAddons } from "./choice";
import { readChoice } from "./search";

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

test.each([
  ["nothing to register", "", false, undefined, "none"],
  ["free", "a.uz", false, { available: true, price: usd(300) }, usd(300)],
  ["taken by this account", "a.uz", true, { available: false, price: null }, "none"],
  ["taken by somebody", "a.uz", false, { available: false, price: null }, "open"],
  ["the registry does not answer", "a.uz", false, { available: null, price: null }, "open"],
  ["free without a price", "a.uz", false, { available: true, price: null }, "open"],
  ["not known yet", "a.uz", false, undefined, "open"],
])("the domain of an order: %s", (_, domain, held, check, want) => {
  expect(registrationOf(domain, held, check)).toEqual(want);
});

test("a domain is the account's own until it is lost", () => {
  const row = { name: "a.uz", status: "pending_registration" } as const;
  expect(isHeld([row], "a.uz")).toBe(true);
  expect(isHeld([{ ...row, status: "failed" }], "a.uz")).toBe(false);
  expect(isHeld([row], "b.uz")).toBe(false);
});
