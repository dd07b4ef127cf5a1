import { expect, test } from "vitest";

import { couponState, namesIn, offOf, priceAfter } from "./off";

test.each([
  ["percent", "12.5", 1000, 875],
  ["percent", "100", 1000, 0],
  ["percent", "33", 101, 68],
  ["amount", "2,50", 1000, 750],
  ["amount", "20", 1000, 0],
  ["amount", "much", 1000, 1000],
])("%s %s off %s is %s", (kind, text, price, want) => expect(priceAfter(price, offOf(kind, text))).toBe(want));

test("names stand between commas and spaces", () => expect(namesIn(" start, pro ")).toEqual(["start", "pro"]));

const coupon = { disabled_at: null, ends_at: null, max_total: null, redeemed: 3 };
test.each([
  [coupon, "valid"],
  [{ ...coupon, max_total: 4, ends_at: "2026-12-01T00:00:01Z" }, "valid"],
  [{ ...coupon, max_total: 3 }, "used_up"],
  [{ ...coupon, ends_at: "2026-12-01T00:00:00Z" }, "over"],
  [{ ...coupon, disabled_at: "2026-11-01T00:00:00Z" }, "over"],
])("the coupon %j is %s", (one, state) => expect(couponState(one, new Date("2026-12-01T00:00:00Z"))).toBe(state));
