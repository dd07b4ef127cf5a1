import type { Day } from "./api";

/** The ranges that a reader chooses from, in days. */
export const ranges = [7, 30, 90, 365] as const;
export type Range = (typeof ranges)[number];

export const isRange = (value: unknown): value is Range => (ranges as readonly unknown[]).includes(value);

/** What a bar of a chart stands for: a day, or some days that follow each other. */
export interface Period extends Pick<Day, "visitors" | "views" | "requests" | "bots" | "bytes"> {
  from: string;
  to: string;
}

const none = { visitors: 0, views: 0, requests: 0, bots: 0, bytes: 0 };

/** The sum of days. Visitors count once a day, so over several days it is their visits. */
export const total = (days: Day[]) =>
  days.reduce(
    (sum, day) => ({
      visitors: sum.visitors + day.visitors,
      views: sum.views + day.views,
      requests: sum.requests + day.requests,
      bots: sum.bots + day.bots,
      bytes: sum.bytes + day.bytes,
    }),
    none,
  );

/** The days as at most so many bars, each of as many days as the others but for the first. */
export function periods(days: Day[], most: number): Period[] {
  const size = Math.max(1, Math.ceil(days.length / most));
  const bars: Period[] = [];
  for (let end = days.length; end > 0; end -= size) {
    const part = days.slice(Math.max(0, end - size), end);
    const [first, last] = [part[0], part.at(-1)];
    if (first && last) bars.unshift({ ...total(part), from: first.date, to: last.date });
  }
  return bars;
}

/** How the requests of days were answered, by kind. */
export const answers = (days: Day[]) =>
  (["2xx", "3xx", "4xx", "5xx"] as const).map((kind) => ({
    kind,
    count: days.reduce((sum, day) => sum + day.statuses[kind], 0),
  }));
