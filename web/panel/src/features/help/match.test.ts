import { expect, test } from "vitest";

import { matches } from "./match";

test.each([
  ["", ["Wallet"], true],
  ["wal", ["Wallet"], true],
  ["lle", ["Wallet"], false],
  ["plan ren", ["Plan and renewal"], true],
  ["dns shop", ["DNS records", "shop.example"], true],
  ["кошел", ["Кошелёк"], true],
  ["КОШЕЛЕК", ["Кошелёк"], true],
  ["shop blog", ["shop.example"], false],
])("%j among %j", (sought, texts, found) => {
  expect(matches(sought, texts)).toBe(found);
});
