import { expect, test } from "vitest";

import { bodyOf, wishProblem, type Wish } from "./validate";

const wish: Wish = { what: "all", paths: "", database: "", parts: [], beside: false, target: "/restored" };

test.each<[Partial<Wish>, string | null]>([
  [{}, null],
  [{ what: "paths" }, "problem.paths"],
  [{ what: "paths", paths: " \n" }, "problem.paths"],
  [{ what: "paths", paths: "/a\nb" }, null],
  [{ what: "paths", paths: "/a\n".repeat(101) }, "problem.many"],
  [{ what: "paths", paths: "/a", beside: true, target: "" }, "problem.target"],
  [{ what: "database", database: " " }, "problem.database"],
  [{ what: "parts" }, "problem.parts"],
  [{ what: "parts", parts: ["mail"] }, null],
])("the wish %j", (part, problem) => {
  expect(wishProblem({ ...wish, ...part })).toBe(problem);
});

test("the request of a wish names what was chosen and nothing else", () => {
  expect(bodyOf(wish)).toEqual({});
  expect(bodyOf({ ...wish, what: "paths", paths: "public_html/img\n/a.txt" })).toEqual({
    parts: ["files"],
    items: ["/public_html/img", "/a.txt"],
    target: undefined,
  });
  expect(bodyOf({ ...wish, what: "paths", paths: "/a", beside: true }).target).toBe("/restored");
  expect(bodyOf({ ...wish, what: "database", database: "u1_shop" })).toEqual({
    parts: ["databases"],
    items: ["u1_shop"],
  });
  expect(bodyOf({ ...wish, what: "parts", parts: ["dns"], paths: "/a" })).toEqual({ parts: ["dns"] });
});
