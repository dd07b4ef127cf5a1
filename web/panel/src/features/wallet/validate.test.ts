import { expect, test } from "vitest";

import { autoProblems, dayAfter } from "./validate";

const auto = { gateway: "card", threshold: "5", amount: "20", most: "" };

test.each([
  [auto, {}],
  [{ ...auto, threshold: "" }, { threshold: "auto.problem.amount" }],
  [{ ...auto, amount: "4" }, { amount: "auto.problem.small" }],
  [{ ...auto, most: "10" }, { most: "auto.problem.most" }],
  [{ ...auto, most: "x" }, { most: "auto.problem.amount" }],
])("automatic top-ups %j", (values, problems) => {
  expect(autoProblems(values)).toEqual(problems);
});

test("the last day counts whole", () => {
  expect(dayAfter("2027-02-28")).toBe("2027-03-01");
});
