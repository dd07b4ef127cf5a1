import { expect, test } from "vitest";

import { drafts } from "~/ui/drafts";

import { unsaved } from "./unsaved";

test("drafts are lost with the page until they are given up", () => {
  expect(unsaved.hasAny()).toBe(false);
  drafts.keep("answer/7/", { message: "Hello" });
  expect(unsaved.hasAny()).toBe(true);
  unsaved.discard();
  expect(unsaved.hasAny()).toBe(false);
  expect(drafts.under("")).toEqual([]);
});
