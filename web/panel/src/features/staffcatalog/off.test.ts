import { expect, test } from "vitest";

import { namesIn, offOf, priceAfter } from "./off";

test.each([
  ["percent", "12.5", 1000, 875],
  ["percent", "100", 1000, 0],
  ["percent", "33", 101, 68],
  ["amount", "2,50", 1000, 750],
  ["amount", "20", 1000, 0],
  ["amount", "much", 1000, 1000],
])("%s %s off %s is %s", (kind, text, price, want) => expect(priceAfter(price, offOf(kind, text))).toBe(want));

test("names stand between commas and spaces", () => expect(namesIn(" start, pro ")).toEqual(["start", "pro"]));
