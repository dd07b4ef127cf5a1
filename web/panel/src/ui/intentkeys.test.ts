import { expect, test } from "vitest";

import { intentKeys } from "./intentkeys";

test("a wish keeps its key until it changes", () => {
  let made = 0;
  const key = intentKeys(() => `key-${++made}`);
  const wish = { domain: "shop.uz", years: 1, expected_usd_cents: 700 };
  expect(key(wish)).toBe("key-1");
  expect(key({ ...wish })).toBe("key-1"); // sent again after its answer was lost
  expect(key({ ...wish, years: 2 })).toBe("key-2");
  expect(key({ ...wish, years: 2, expected_usd_cents: 1400 })).toBe("key-3");
});
