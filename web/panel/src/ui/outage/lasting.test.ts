import { expect, test } from "vitest";

import { lasting } from "./lasting";

test.each([
  [0, [["seconds", 0]]],
  [59.9, [["seconds", 59]]],
  [60, [["minutes", 1]]],
  [3725, [["hours", 1], ["minutes", 2]]], // prettier-ignore
  [86400, [["days", 1]]],
  [90061, [["days", 1], ["hours", 1]]], // prettier-ignore
])("%d seconds", (seconds, parts) => {
  expect(lasting(seconds)).toEqual(parts);
});
