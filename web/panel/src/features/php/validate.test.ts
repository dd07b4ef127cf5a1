import { expect, test } from "vitest";

import { isGood, valueOf } from "./validate";

test.each(["300s", "5 min", "1e3", "-1", "0x10", "1.5"])("%j is not sent as a whole number", (typed) => {
  expect(isGood("integer", typed)).toBe(false);
});

test.each([
  ["integer", " 300 ", 300],
  ["integer", "", null],
  ["size", "256M ", "256M"],
  ["boolean", "false", false],
] as const)("of %s, %j is sent as %j", (type, typed, sent) => {
  expect(isGood(type, typed)).toBe(true);
  expect(valueOf(type, typed)).toBe(sent);
});
