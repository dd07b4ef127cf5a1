import { expect, test } from "vitest";

import type { Day } from "./api";
import { answers, isRange, periods, total } from "./periods";

const day = (date: string, views: number): Day => ({
  date,
  views,
  visitors: 1,
  requests: views * 3,
  bots: 2,
  bytes: 100,
  statuses: { "2xx": views, "3xx": 0, "4xx": 1, "5xx": 0 },
});
const week = [1, 2, 3, 4, 5, 6, 7].map((n) => day(`2026-11-0${n}`, n));

test("each day is a bar while there is room", () => {
  expect(periods(week, 7).map(({ from, to, views }) => [from, to, views])).toEqual(
    week.map(({ date, views }) => [date, date, views]),
  );
  expect(periods([], 7)).toEqual([]);
});

test("days are summed where there is none, and the last bar ends today", () => {
  expect(periods(week, 3).map(({ from, to, views, visitors }) => [from, to, views, visitors])).toEqual([
    ["2026-11-01", "2026-11-01", 1, 1],
    ["2026-11-02", "2026-11-04", 9, 3],
    ["2026-11-05", "2026-11-07", 18, 3],
  ]);
});

test("the totals are of all days", () => {
  expect(total(week)).toEqual({ visitors: 7, views: 28, requests: 84, bots: 14, bytes: 700 });
  expect(answers(week).map(({ count }) => count)).toEqual([28, 0, 7, 0]);
});

test("a range is one of those that are offered", () => {
  expect([7, 365, 8, "7", undefined].map(isRange)).toEqual([true, true, false, false, false]);
});
