import { expect, test } from "vitest";

import { nextRuns, parse } from "./schedule";

const runs = (expression: string, zone = "UTC", after = "2026-11-26T12:00:00Z", count = 3) => {
  const schedule = parse(expression);
  return schedule && nextRuns(schedule, zone, new Date(after), count).map((run) => run.toISOString().slice(0, 16));
};

test.each([
  ["*/5 * * * *", ["2026-11-26T12:05", "2026-11-26T12:10", "2026-11-26T12:15"]],
  ["@daily", ["2026-11-27T00:00", "2026-11-28T00:00", "2026-11-29T00:00"]],
  ["0 9 * * mon-fri", ["2026-11-27T09:00", "2026-11-30T09:00", "2026-12-01T09:00"]],
  ["0 0 1 jan *", ["2027-01-01T00:00", "2028-01-01T00:00", "2029-01-01T00:00"]],
  ["0 0 13 * 5", ["2026-11-27T00:00", "2026-12-04T00:00", "2026-12-11T00:00"]],
  ["0 0 */2 * 7", ["2026-11-29T00:00", "2026-12-13T00:00", "2026-12-27T00:00"]],
  ["0 0 29 2 *", ["2028-02-29T00:00"]],
])("%s runs at %j", (expression, expected) => {
  expect(runs(expression)).toEqual(expected);
});

test("times of day are those of the zone, also when clocks change", () => {
  expect(runs("0 3 * * *", "Asia/Tashkent", "2026-11-26T12:00:00Z", 1)).toEqual(["2026-11-26T22:00"]);
  expect(runs("0 3 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 2)).toEqual([
    "2026-03-28T02:00",
    "2026-03-29T01:00",
  ]);
});

test.each([
  "",
  "* * * *",
  "60 * * * *",
  "* 24 * * *",
  "* * 0 * *",
  "*/0 * * * *",
  "5-1 * * * *",
  "a * * * *",
  "@often",
])("%j is no expression", (expression) => {
  expect(parse(expression)).toBeNull();
});
