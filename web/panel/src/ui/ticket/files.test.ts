import { expect, test } from "vitest";

import { filesProblem, mostBytes } from "./files";

const file = (size: number) => ({ name: "a.png", size });

test.each([
  [[], null],
  [[file(mostBytes)], null],
  [[file(mostBytes), file(1)], "files.large"],
  [Array.from({ length: 5 }, () => file(10)), null],
  [Array.from({ length: 6 }, () => file(10)), "files.many"],
  [[file(0)], "files.empty"],
])("the files %j of a message", (files, problem) => {
  expect(filesProblem(files)).toBe(problem);
});
