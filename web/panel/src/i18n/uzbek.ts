// Chrome has no Uzbek among the languages whose numbers and dates it writes ("2026 M11 28"). These are the forms of CLDR for it.

import { wallClock } from "./localtime";

/** Uzbek has the decimal comma and the groups of Russian, which all browsers write. */
export const numberLang = "ru";

export const units = { byte: "bayt", kilobyte: "kB", megabyte: "MB", gigabyte: "GB", terabyte: "TB" } as const;

const months = [
  "yanvar",
  "fevral",
  "mart",
  "aprel",
  "may",
  "iyun",
  "iyul",
  "avgust",
  "sentabr",
  "oktabr",
  "noyabr",
  "dekabr",
];
const short = ["yan", "fev", "mar", "apr", "may", "iyn", "iyl", "avg", "sen", "okt", "noy", "dek"];

const two = (value: number) => String(value).padStart(2, "0");

/** "28-noy, 2026", with a time "28-noy, 2026, 02:13" or "28-noy, 2026, 02:13:09". */
export function dateTime(time: Date, clock: "none" | "minutes" | "seconds", timeZone?: string): string {
  const { year, month, day, hour, minute, second } = wallClock(time, timeZone);
  const date = `${day}-${short[month - 1]}, ${year}`;
  if (clock === "none") return date;
  return `${date}, ${two(hour)}:${two(minute)}` + (clock === "seconds" ? `:${two(second)}` : "");
}

/** "noyabr, 2026" */
export function month(time: Date, timeZone: string): string {
  const { year, month } = wallClock(time, timeZone);
  return `${months[month - 1]}, ${year}`;
}

/** The units in which distances of time are told. */
export type Unit = "year" | "month" | "day" | "hour" | "minute" | "second";

const relatives: Record<Unit, { name: string; words: Record<number, string> }> = {
  year: { name: "yil", words: { [-1]: "o‘tgan yil", 0: "shu yil", 1: "keyingi yil" } },
  month: { name: "oy", words: { [-1]: "o‘tgan oy", 0: "shu oy", 1: "keyingi oy" } },
  day: { name: "kun", words: { [-1]: "kecha", 0: "bugun", 1: "ertaga" } },
  hour: { name: "soat", words: { 0: "shu soatda" } },
  minute: { name: "daqiqa", words: { 0: "shu daqiqada" } },
  second: { name: "soniya", words: { 0: "hozir" } },
};

/** "3 kundan keyin", "5 daqiqa oldin", "ertaga" */
export function relative(count: number, unit: Unit): string {
  const { name, words } = relatives[unit];
  return words[count] ?? (count < 0 ? `${-count} ${name} oldin` : `${count} ${name}dan keyin`);
}
