import { expect, test } from "vitest";

import type { Product, Service } from "./api";
import { cell, csv, marginOf, retailOf } from "./margin";

const money = (usd_cents: number) => ({ usd_cents, amount: usd_cents, currency: "USD" as const, display: "" });
const products = [{ plans: [{ id: 3, prices: [{ period_months: 12, retail: money(6000) }] }] }] as unknown as Product[];
const service = {
  id: 7,
  client_ref: "=cmd()",
  domain: "a.example",
  status: "active",
  expires_at: "2027-01-01T00:00:00Z",
  auto_renew: true,
  renewal_covered: false,
  period_months: 12,
  plan: { id: 3, slug: "start", name: "Start" },
  renew_cost: money(4800),
} as unknown as Service;

test("the margin is what is left of the catalogue's price", () => {
  const prices = retailOf(products);
  expect(marginOf(service, prices)).toMatchObject({ margin: { usd_cents: 1200 }, share: 0.2 });
  expect(marginOf({ ...service, period_months: 1 }, prices)).toBeNull();
});

test.each([
  ["plain", "plain"],
  ['say "a", b', '"say ""a"", b"'],
  ["=1+1", "'=1+1"],
  ["-1", "'-1"],
])("the cell %j", (value, text) => {
  expect(cell(value)).toBe(text);
});

test("the table as CSV", () => {
  expect(csv([service], retailOf(products)).split("\r\n")[1]).toBe(
    "'=cmd(),7,a.example,start,active,2027-01-01T00:00:00Z,true,false,48.00,60.00,12.00",
  );
});
