import { expect, test } from "vitest";

import { keyProblem, userProblem } from "./validate";

test.each([
  ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB anna@laptop", null],
  ["ssh-rsa AAAAB3NzaC1yc2E=", null],
  ["sk-ssh-ed25519@openssh.com AAAA", null],
  ["", "key.empty"],
  ["-----BEGIN OPENSSH PRIVATE KEY-----\nabc", "key.private"],
  ["ssh-ed25519 AAAA\nssh-ed25519 BBBB", "key.lines"],
  ['command="ls" ssh-ed25519 AAAA', "key.form"],
  ["AAAA", "key.form"],
])("the key %j", (text, problem) => {
  expect(keyProblem(text)).toBe(problem);
});

test("names of FTP accounts have letters, digits, - and _", () => {
  expect(userProblem("anna_1")).toBeNull();
  expect(userProblem("anna.1")).toBe("user.wrong");
  expect(userProblem("")).toBe("user.wrong");
});
