import { expect, test } from "vitest";

import { centsOf, dollars, feeOf } from "./amount";

test.each([
  ["12", 1200],
  ["12.5", 1250],
  ["12,50", 1250],
  ["0.01", 1],
  ["12.345", null],
  ["-1", null],
  ["", null],
  ["1e3", null],
])("%j is an amount of %j cents", (typed, cents) => {
  expect(centsOf(typed)).toBe(cents);
});

test("dollars for a field", () => {
  expect(dollars(5)).toBe("0.05");
});

test("a fee is rounded half up", () => {
  expect(feeOf(1000, { fee_percent_bp: 255, fee_fixed: { usd_cents: 30 } })).toBe(56);
});
