import { expect, test } from "vitest";

import { codeOf, codeProblem, emailProblem, linesOf, passwordProblem, redirectsProblem } from "./validate";

test.each([
  ["anna@example.com", null],
  [" anna@example.com ", null],
  ["anna", "problem.email"],
  ["anna@localhost", "problem.email"],
  ["", "problem.email"],
])("the address %j", (email, problem) => {
  expect(emailProblem(email)).toBe(problem);
});

test("a password counts characters, not units", () => {
  expect(passwordProblem("123456789")).toBe("problem.password_short");
  expect(passwordProblem("1234567890")).toBeNull();
  expect(passwordProblem("🔑🔑🔑🔑🔑🔑")).toBe("problem.password_short");
});

test.each([
  ["123456", null],
  ["123 456", null],
  ["12345", "problem.code"],
  ["abcdef", "problem.code"],
])("the code %j", (code, problem) => {
  expect(codeProblem(code)).toBe(problem);
  if (!problem) expect(codeOf(code)).toBe("123456");
});

test.each([
  ["https://app.example/callback", null],
  ["http://127.0.0.1/callback\ncom.example.app:/back", null],
  ["", "problem.required"],
  ["app.example", "problem.redirects"],
])("the redirect addresses %j", (text, problem) => {
  expect(redirectsProblem(text)).toBe(problem);
  expect(linesOf(text).length).toBe(text === "" ? 0 : text.split("\n").length);
});
