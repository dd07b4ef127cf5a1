import { expect, test } from "vitest";

import { follow } from "./edited";

test("a colleague's version replaces what nobody has touched, and nothing that was typed", () => {
  const untouched = { seen: "old", base: "old", text: "old" };
  expect(follow(untouched, "old")).toBe(untouched);
  expect(follow(untouched, "new")).toEqual({ seen: "new", base: "new", text: "new" });
  const typed = { seen: "old", base: "old", text: "typed" };
  expect(follow(typed, "new")).toEqual({ seen: "new", base: "old", text: "typed" });
  expect(follow(typed, "typed")).toEqual({ seen: "typed", base: "typed", text: "typed" });
});

test("what was published is replaced by what the server made of it", () => {
  const sent = { seen: "old", base: "typed", text: "typed" };
  expect(follow(sent, "old")).toBe(sent);
  expect(follow(sent, "# typed")).toEqual({ seen: "# typed", base: "# typed", text: "# typed" });
});
