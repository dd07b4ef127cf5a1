// Chrome has no Uzbek among the languages whose numbers and dates it writes ("2026 M11 28"). These are the forms of CLDR for it.

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

/** The parts of a time in a zone, the reader's by default: numbers as they are written in a date. */
function parts(time: Date, timeZone?: string) {
  const format = new Intl.DateTimeFormat("en-GB", {
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone,
  });
  const of: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of format.formatToParts(time)) of[type] = value;
  return of;
}

/** "28-noy, 2026", with a time "28-noy, 2026, 02:13" or "28-noy, 2026, 02:13:09". */
export function dateTime(time: Date, clock: "none" | "minutes" | "seconds", timeZone?: string): string {
  const { year, month, day, hour, minute, second } = parts(time, timeZone);
  const date = `${Number(day)}-${short[Number(month) - 1]}, ${year}`;
  if (clock === "none") return date;
  return `${date}, ${hour}:${minute}` + (clock === "seconds" ? `:${second}` : "");
}

/** "noyabr, 2026" */
export function month(time: Date, timeZone: string): string {
  const of = parts(time, timeZone);
  return `${months[Number(of.month) - 1]}, ${of.year}`;
}

const relatives: Record<string, { name: string; words: Record<number, string> }> = {
  year: { name: "yil", words: { [-1]: "o‘tgan yil", 0: "shu yil", 1: "keyingi yil" } },
  month: { name: "oy", words: { [-1]: "o‘tgan oy", 0: "shu oy", 1: "keyingi oy" } },
  day: { name: "kun", words: { [-1]: "kecha", 0: "bugun", 1: "ertaga" } },
  hour: { name: "soat", words: { 0: "shu soatda" } },
  minute: { name: "daqiqa", words: { 0: "shu daqiqada" } },
  second: { name: "soniya", words: { 0: "hozir" } },
};

/** "3 kundan keyin", "5 daqiqa oldin", "ertaga" */
export function relative(count: number, unit: Intl.RelativeTimeFormatUnit): string {
  const { name, words } = relatives[unit] ?? { name: unit, words: {} };
  return words[count] ?? (count < 0 ? `${-count} ${name} oldin` : `${count} ${name}dan keyin`);
}
