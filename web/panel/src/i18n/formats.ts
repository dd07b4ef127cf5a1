import type { components } from "~/api/schema";

import { currentLang } from "./i18n";
import * as uzbek from "./uzbek";

const isUzbek = () => currentLang() === "uz";

/** The language by whose rules numbers are written. */
const numberLang = () => (isUzbek() ? uzbek.numberLang : currentLang());

export type Money = components["schemas"]["Money"];

/** Digits after the decimal mark of the currencies whose amounts have not two, as the server counts them (internal/platform/money). */
const decimals: Record<string, number> = { UZS: 0, KZT: 0 };

/** What soʻm are called in languages for which browsers have no name. */
const som: Partial<Record<string, string>> = { uz: "soʻm", ru: "сум" };

/** An amount in its display currency. */
export function money(amount: Pick<Money, "amount" | "currency">): string {
  const digits = decimals[amount.currency] ?? 2;
  return new Intl.NumberFormat(numberLang(), {
    style: "currency",
    currency: amount.currency,
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
    .formatToParts(amount.amount / 10 ** digits)
    .map(({ type, value }) =>
      type === "currency" && amount.currency === "UZS" ? (som[currentLang()] ?? value) : value,
    )
    .join("");
}

export const number = (value: number, options?: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(numberLang(), options).format(value);

const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** A size in bytes, with the unit that reads well (1 kB = 1,024 bytes, as in the plans). */
export function bytes(value: number): string {
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  const unit = units[at] ?? "byte";
  const maximumFractionDigits = value < 10 && at > 0 ? 1 : 0;
  if (isUzbek()) return `${number(value, { maximumFractionDigits })} ${uzbek.units[unit]}`;
  const unitDisplay = at > 0 ? "short" : "long"; // "5 byte" is no English
  return number(value, { style: "unit", unit, unitDisplay, maximumFractionDigits });
}

/** A size in megabytes. */
export const megabytes = (value: number) => bytes(value * 1024 * 1024);

const parse = (time: string | Date) => (typeof time === "string" ? new Date(time) : time);

/** A time in the reader's zone, or in another one. */
function dateTime(time: Date, clock: "none" | "minutes" | "seconds", timeZone?: string): string {
  if (isUzbek()) return uzbek.dateTime(time, clock, timeZone);
  const timeStyle = ({ none: undefined, minutes: "short", seconds: "medium" } as const)[clock];
  return new Intl.DateTimeFormat(currentLang(), { dateStyle: "medium", timeStyle, timeZone }).format(time);
}

export const day = (time: string | Date) => dateTime(parse(time), "none");

/** A day of the calendar, such as "2026-11-27", which is the same in all zones. */
export const date = (calendarDay: string) => dateTime(new Date(calendarDay), "none", "UTC");

export const moment = (time: string | Date) => dateTime(parse(time), "minutes");

export const utc = (time: string | Date) => dateTime(parse(time), "seconds", "UTC") + " UTC";

/** A month of the calendar, such as "2026-11". */
export function month(calendarMonth: string): string {
  const first = new Date(`${calendarMonth}-01T00:00:00Z`);
  if (isUzbek()) return uzbek.month(first, "UTC");
  return new Intl.DateTimeFormat(currentLang(), { month: "long", year: "numeric", timeZone: "UTC" }).format(first);
}

const steps: [uzbek.Unit, number][] = [
  ["year", 365 * 24 * 3600],
  ["month", 30 * 24 * 3600],
  ["day", 24 * 3600],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** How far a time is from now, such as "in 3 days". */
export function relative(time: string | Date, now = new Date()): string {
  const seconds = (parse(time).getTime() - now.getTime()) / 1000;
  for (const [unit, length] of steps) {
    if (Math.abs(seconds) < length && unit !== "second") continue;
    const count = Math.round(seconds / length);
    if (isUzbek()) return uzbek.relative(count, unit);
    return new Intl.RelativeTimeFormat(currentLang(), { numeric: "auto" }).format(count, unit);
  }
  return "";
}

/** A share of 1, such as 0.25. */
export const percent = (share: number, digits = 0) =>
  isUzbek()
    ? number(share * 100, { maximumFractionDigits: digits }) + "%"
    : number(share, { style: "percent", maximumFractionDigits: digits });

/** The sum of amounts of one currency. */
export const sum = (first: Money, ...rest: Money[]): Money =>
  rest.reduce(
    (total, one) => ({ ...total, amount: total.amount + one.amount, usd_cents: total.usd_cents + one.usd_cents }),
    first,
  );

/** An amount as often as count says; a fraction is rounded to the smallest unit that is shown. */
export const times = (one: Money, count: number): Money => ({
  ...one,
  amount: Math.round(one.amount * count),
  usd_cents: Math.round(one.usd_cents * count),
});

/**
 * What an account pays for a price: with the tax that is added to it, half a cent rounded up as the server does
 * (internal/platform/money/tax.go). Each order is taxed by itself, so the prices of several are not added up before.
 */
export function gross(price: Money, by: { tax_rate: number; tax_included: boolean }): Money {
  const points = by.tax_included ? 0 : Math.round(by.tax_rate * 100);
  const taxed = (net: number) => net + Math.floor((net * points + 5000) / 10_000);
  return { ...price, amount: taxed(price.amount), usd_cents: taxed(price.usd_cents) };
}

/** What is left of an amount without another. */
export const less = (from: Money, other: Money): Money => sum(from, times(other, -1));

/** A text of the interface that is there in each language. */
export const inLang = (text: string | Record<string, string>): string =>
  typeof text === "string" ? text : (text[currentLang()] ?? text.en ?? Object.values(text)[0] ?? "");
