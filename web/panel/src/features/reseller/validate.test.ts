import { expect, test } from "vitest";

import { addressesOf, wrongAddress } from "./validate";

test("addresses stand on lines, or between commas or blanks", () => {
  expect(addressesOf(" 192.0.2.7\n2001:db8::/32, 198.51.100.0/24 ")).toEqual([
    "192.0.2.7",
    "2001:db8::/32",
    "198.51.100.0/24",
  ]);
  expect(addressesOf("  ")).toEqual([]);
});

test.each([
  ["", null],
  ["192.0.2.7", null],
  ["192.0.2.0/24 2001:db8::1", null],
  ["::/0", null],
  ["everywhere", "everywhere"],
  ["192.0.2.7 256.0.0.1", "256.0.0.1"],
  ["192.0.2.0/33", "192.0.2.0/33"],
  ["2001:db8::/129", "2001:db8::/129"],
  ["2001::db8::1", "2001::db8::1"],
  ["192.0.2.0/24/8", "192.0.2.0/24/8"],
])("of %j the first that is no address is %j", (text, wrong) => {
  expect(wrongAddress(text)).toBe(wrong);
});
