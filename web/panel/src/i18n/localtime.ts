/** A time of the interface as a field of a form has it, in the reader's zone: "2026-11-27T09:30". */
export const localTime = (time: string | null | undefined) => {
  if (!time) return "";
  const at = new Date(time);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
};

/** What a field of a form has, as a time of the interface. */
export const utcTime = (local: string) => (local ? new Date(local).toISOString() : undefined);

/** What a clock in a zone shows, the reader's by default. The month is 1 to 12. */
export function wallClock(time: Date | number, timeZone?: string) {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)])) as Record<
    "year" | "month" | "day" | "hour" | "minute" | "second",
    number
  >;
}
