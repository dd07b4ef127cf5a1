import { expect, test } from "vitest";

import { nameProblem } from "./validate";

test.each([
  ["shop", null],
  ["shop_2", null],
  ["", "name.empty"],
  ["Shop", "name.characters"],
  ["my-shop", "name.characters"],
  ["a".repeat(24), null],
  ["a".repeat(25), "name.long"],
])("the name %j of a database", (name, problem) => {
  expect(nameProblem(name)).toBe(problem);
});
