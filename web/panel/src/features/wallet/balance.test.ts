import { expect, test, vi } from "vitest";

import type { Movement } from "./api";
import { balanceByDay, firstOf } from "./balance";

vi.mock("~/app/boot", () => ({ boot: { lang: "en", sections: [] } }));

const now = Date.parse("2026-11-30T12:00:00Z");
const usd = (cents: number) => ({
  amount: cents,
  currency: "USD",
  usd_cents: cents,
  display: `$${(cents / 100).toFixed(2)}`,
});
const moved = (created_at: string, cents: number, after: number) =>
  ({ created_at, amount: usd(cents), balance_after: usd(after) }) as Movement;
const shown = (list: ReturnType<typeof balanceByDay>) => list.map((one) => [one.day, one.balance.usd_cents]);

test("a day has the balance after its last movement, or that of the day before", () => {
  const movements = [
    moved("2026-11-29T23:00:00Z", -200, 300),
    moved("2026-11-29T08:00:00Z", 500, 500),
    moved("2026-11-27T08:00:00Z", -100, 0),
  ];
  expect(shown(balanceByDay(movements, true, usd(300), 5, now))).toEqual([
    ["2026-11-26", 100],
    ["2026-11-27", 0],
    ["2026-11-28", 0],
    ["2026-11-29", 300],
    ["2026-11-30", 300],
  ]);
});

test("without movements it is what is there", () => {
  expect(shown(balanceByDay([], true, usd(700), 2, now))).toEqual([
    ["2026-11-29", 700],
    ["2026-11-30", 700],
  ]);
  expect(firstOf(2, now)).toBe("2026-11-29");
});

test("what is not known of days long ago is not drawn", () => {
  const movements = [moved("2026-11-30T01:00:00Z", 1, 9), moved("2026-11-29T23:00:00Z", 1, 8)];
  expect(shown(balanceByDay(movements, false, usd(9), 5, now))).toEqual([["2026-11-30", 9]]);
});
