import { afterEach, describe, expect, test, vi } from "vitest";

import * as formats from "./formats";

const page = vi.hoisted(() => ({ lang: "en" }));
vi.mock("./i18n", () => ({ currentLang: () => page.lang }));

const zone = process.env.TZ;
afterEach(() => {
  page.lang = "en";
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test.each(["Pacific/Auckland", "UTC", "Pacific/Honolulu"])("a day of the calendar is the same in %s", (there) => {
  process.env.TZ = there;
  expect(formats.date("2026-11-27")).toBe("Nov 27, 2026");
});

test.each([
  [0, "0 bytes", "0 bayt"],
  [1, "1 byte", "1 bayt"],
  [1536, "1.5 kB", "1,5 kB"],
  [60 * 1024 ** 3, "60 GB", "60 GB"],
])("%d bytes read %s, and %s", (value, english, inUzbek) => {
  expect(formats.bytes(value)).toBe(english);
  page.lang = "uz";
  expect(formats.bytes(value)).toBe(inUzbek);
});

test.each([
  ["USD", 123456, "$1,234.56", "1 234,56 $", "1 234,56 $"],
  ["UZS", 158750, "UZS 158,750", "158 750 сум", "158 750 soʻm"],
  ["KZT", 6500, "₸6,500", "6 500 ₸", "6 500 ₸"],
  ["EUR", 1150, "€11.50", "11,50 €", "11,50 €"],
])("an amount in %s", (currency, amount, ...texts) => {
  const shown = ["en", "ru", "uz"].map((lang) => {
    page.lang = lang;
    return formats.money({ amount, currency }).replace(/\s/g, " ");
  });
  expect(shown).toEqual(texts);
});

test.each([
  [1050, 12, 1176],
  [125, 12, 140], // 15
  [104, 12, 116], // 12.48
  [105, 10, 116], // half a cent is rounded up
  [999, 7.25, 1071], // 72.43
  [0, 12, 0],
])("%d cents with %d percent on top are %d", (cents, tax_rate, total) => {
  const price = { amount: cents, usd_cents: cents, currency: "USD", display: "" };
  expect(formats.gross(price, { tax_rate, tax_included: false })).toMatchObject({ amount: total, usd_cents: total });
  expect(formats.gross(price, { tax_rate, tax_included: true })).toMatchObject({ amount: cents, usd_cents: cents });
});

// Node has all of CLDR, which Chrome has not.
describe("Uzbek as CLDR has it", () => {
  const days = Array.from({ length: 12 }, (_, month) => new Date(Date.UTC(2026, month, 3 + month * 2, 21, 5, 9)));

  test.each(days)("%s", (time) => {
    page.lang = "uz";
    process.env.TZ = "Asia/Tashkent";
    const intl = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("uz", options).format(time);
    expect(formats.day(time)).toBe(intl({ dateStyle: "medium" }));
    expect(formats.moment(time)).toBe(intl({ dateStyle: "medium", timeStyle: "short" }));
    expect(formats.utc(time)).toBe(intl({ dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" }) + " UTC");
    expect(formats.month(time.toISOString().slice(0, 7))).toBe(
      intl({ month: "long", year: "numeric", timeZone: "UTC" }),
    );
  });

  test.each([0, 7, 12.5, 1234.5, 1234567.25, -3.75])("%d", (value) => {
    page.lang = "uz";
    expect(formats.number(value)).toBe(new Intl.NumberFormat("uz").format(value));
    expect(formats.percent(value / 100, 1)).toBe(
      new Intl.NumberFormat("uz", { style: "percent", maximumFractionDigits: 1 }).format(value / 100),
    );
  });

  const seconds = { second: 1, minute: 60, hour: 3600, day: 86400, month: 30 * 86400, year: 365 * 86400 } as const;
  test.each(Object.entries(seconds))("in some %ss", (unit, length) => {
    page.lang = "uz";
    const now = new Date("2026-11-28T02:13:00Z");
    const intl = new Intl.RelativeTimeFormat("uz", { numeric: "auto" });
    for (const count of [-5, -2, -1, 1, 2, 5]) {
      const then = new Date(now.getTime() + count * length * 1000);
      expect(formats.relative(then, now)).toBe(intl.format(count, unit as Intl.RelativeTimeFormatUnit));
    }
    expect(formats.relative(now, now)).toBe(intl.format(0, "second"));
  });
});
