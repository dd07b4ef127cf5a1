import { expect, test } from "vitest";

import { numberIn, oneIn, textIn } from "./page";

test("search parameters are taken as they are meant, or not at all", () => {
  expect([numberIn("2"), numberIn(3), numberIn("-1"), numberIn("x"), numberIn(undefined)]).toEqual([
    2,
    3,
    undefined,
    undefined,
    undefined,
  ]);
  expect([textIn("a"), textIn(17), textIn(""), textIn({})]).toEqual(["a", "17", undefined, undefined]);
  expect([oneIn("open", ["open", "closed"]), oneIn("other", ["open", "closed"])]).toEqual(["open", undefined]);
});
