import type { components } from "~/api/schema";

import { currentLang } from "./i18n";

export type Money = components["schemas"]["Money"];

/** An amount in its display currency. The server's text is used for languages in which it was written. */
export function money(amount: Pick<Money, "amount" | "currency">): string {
  const digits = new Intl.NumberFormat("en", { style: "currency", currency: amount.currency }).resolvedOptions();
  const scale = 10 ** (digits.maximumFractionDigits ?? 2);
  return new Intl.NumberFormat(currentLang(), { style: "currency", currency: amount.currency }).format(
    amount.amount / scale,
  );
}

export const number = (value: number, options?: Intl.NumberFormatOptions) =>
  new Intl.NumberFormat(currentLang(), options).format(value);

const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** A size in bytes, with the unit that reads well (1 kB = 1,024 bytes, as in the plans). */
export function bytes(value: number): string {
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  return number(value, {
    style: "unit",
    unit: units[at],
    unitDisplay: "short",
    maximumFractionDigits: value < 10 && at > 0 ? 1 : 0,
  });
}

/** A size in megabytes. */
export const megabytes = (value: number) => bytes(value * 1024 * 1024);

const parse = (time: string | Date) => (typeof time === "string" ? new Date(time) : time);

export const day = (time: string | Date) =>
  new Intl.DateTimeFormat(currentLang(), { dateStyle: "medium" }).format(parse(time));

/** A day of the calendar, such as "2026-11-27", which is the same in all zones. */
export const date = (calendarDay: string) =>
  new Intl.DateTimeFormat(currentLang(), { dateStyle: "medium", timeZone: "UTC" }).format(new Date(calendarDay));

export const moment = (time: string | Date) =>
  new Intl.DateTimeFormat(currentLang(), { dateStyle: "medium", timeStyle: "short" }).format(parse(time));

export const utc = (time: string | Date) =>
  new Intl.DateTimeFormat(currentLang(), { dateStyle: "medium", timeStyle: "medium", timeZone: "UTC" }).format(
    parse(time),
  ) + " UTC";

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
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
  const format = new Intl.RelativeTimeFormat(currentLang(), { numeric: "auto" });
  for (const [unit, length] of steps) {
    if (Math.abs(seconds) >= length || unit === "second") return format.format(Math.round(seconds / length), unit);
  }
  return "";
}

const percentFormat = (digits: number) =>
  new Intl.NumberFormat(currentLang(), { style: "percent", maximumFractionDigits: digits });

/** A share of 1, such as 0.25. */
export const percent = (share: number, digits = 0) => percentFormat(digits).format(share);

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

/** A text of the interface that is there in each language. */
export const inLang = (text: string | Record<string, string>): string =>
  typeof text === "string" ? text : (text[currentLang()] ?? text.en ?? Object.values(text)[0] ?? "");
