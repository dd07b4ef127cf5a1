import { expect, test } from "vitest";

import { addresses, addressesProblem, localProblem, newPassword, passwordProblem, settingsText } from "./validate";

test.each([
  ["info", null],
  ["first.last", null],
  ["", "local.empty"],
  ["a..b", "local.characters"],
  [".a", "local.characters"],
  ["a@b", "local.characters"],
  ["a".repeat(65), "local.characters"],
])("the address %j@", (local, problem) => {
  expect(localProblem(local)).toBe(problem);
});

test("passwords have 10 characters and 72 bytes at most", () => {
  expect(passwordProblem("123456789")).toBe("password.short");
  expect(passwordProblem("1234567890")).toBeNull();
  expect(passwordProblem("ў".repeat(37))).toBe("password.long");
  expect(passwordProblem("", true)).toBeNull();
  expect(passwordProblem("")).toBe("password.short");
});

test("a made password can be used, and is another each time", () => {
  const made = Array.from({ length: 50 }, newPassword);
  expect(new Set(made).size).toBe(50);
  made.forEach((password) => expect(password).toMatch(/^[2-9A-HJ-NP-Za-km-z]{20}$/));
});

test("addresses are told apart", () => {
  expect(addresses("a@b.uz,\n c@d.uz ")).toEqual(["a@b.uz", "c@d.uz"]);
  expect(addressesProblem("a@b.uz c")).toBe("addresses.wrong");
  expect(addressesProblem("")).toBeNull();
});

test("settings name the user once", () => {
  const server = { host: "mail.stead.test", port: 993, tls: "tls" };
  expect(
    settingsText("a@b.uz", { username: "a@b.uz", imap: server, smtp: { ...server, port: 587, tls: "starttls" } }),
  ).toBe("a@b.uz\nIMAP: mail.stead.test, 993, SSL/TLS\nSMTP: mail.stead.test, 587, STARTTLS");
});
