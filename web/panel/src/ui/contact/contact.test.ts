import { expect, test } from "vitest";

import { contactProblem, emptyContact, tidy } from "./contact";

test.each([
  ["name", " ", "required"],
  ["email", "a@b", "email"],
  ["email", "a@b.uz", null],
  ["phone", "901234567", "phone"],
  ["phone", "+998 (90) 123-45-67", null],
  ["country", "Uzbekistan", "country"],
  ["country", "uz", null],
  ["region", "", null],
] as const)("%s %j", (field, value, problem) => {
  expect(contactProblem(field, value)).toBe(problem);
});

test("a contact is sent tidy", () => {
  expect(tidy({ ...emptyContact, name: " Ann ", phone: "+998 90 123-45-67", country: "uz" })).toEqual({
    name: "Ann",
    phone: "+998901234567",
    country: "UZ",
  });
});
