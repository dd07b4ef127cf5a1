import { expect, test } from "vitest";

import { localTime } from "~/i18n/localtime";

import { fieldsOf, timeOf, wishOf, written } from "./fields";

test("a time that nobody has changed stays what it was, to the microsecond", () => {
  const read = "2026-12-01T10:20:30.123456Z";
  expect(timeOf(localTime(read), read)).toBe(read);
  expect(timeOf("", read)).toBeNull();
  expect(timeOf("2026-12-01T11:00")).toBe(new Date("2026-12-01T11:00").toISOString());
});

test("what the form says is an announcement", () => {
  const fields = fieldsOf();
  expect(written(fields)).toEqual([]);
  fields.title.ru = "Диски";
  fields.body.ru = "Ночью.";
  fields.audience_of = "web1";
  fields.mail = true;
  expect(written(fields)).toEqual(["ru"]);
  const wish = wishOf(fields);
  expect(wish).toMatchObject({ audience: "all", audience_of: "", mail: false, starts_at: null });
  expect(wishOf({ ...fields, audience: "node", notify: true })).toMatchObject({ audience_of: "web1", mail: true });
  expect(wishOf(fieldsOf(wish), wish)).toEqual(wish);
});
