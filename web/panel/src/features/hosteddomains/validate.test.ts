import { expect, test } from "vitest";

import { nameProblem, targetProblem, wantedRecords } from "./validate";

test.each([
  ["shop.uz", "addon", null],
  ["дўкон.uz", "addon", null],
  ["shop.uz.", "addon", null],
  ["", "addon", "name.empty"],
  ["shop", "addon", "name.dot"],
  ["https://shop.uz", "addon", "name.characters"],
  ["me@shop.uz", "alias", "name.characters"],
  ["blog.shop.uz", "subdomain", null],
  ["Blog.Shop.uz", "subdomain", null],
  ["blog.other.uz", "subdomain", "name.below"],
  ["shop.uz", "subdomain", "name.below"],
] as const)("the name %j as %s", (name, kind, problem) => {
  expect(nameProblem(name, kind, ["shop.uz"])).toBe(problem);
});

test.each([
  ["https://shop.uz/new", null],
  ["", "target.empty"],
  ["shop.uz", "target.url"],
  ["ftp://shop.uz", "target.url"],
])("a redirect to %j", (target, problem) => {
  expect(targetProblem(target)).toBe(problem);
});

test("what is missing is told from what is there", () => {
  expect(wantedRecords("shop.uz", ["192.0.2.7", "2001:db8::7"], ["192.0.2.7", "198.51.100.1"])).toEqual([
    { type: "A", name: "shop.uz", value: "192.0.2.7", there: true },
    { type: "AAAA", name: "shop.uz", value: "2001:db8::7", there: false },
  ]);
});
