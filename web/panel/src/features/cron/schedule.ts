import { wallClock } from "~/i18n/localtime";

/** An expression of crontab(5), as the server reads it: see internal/port/panel/schedule.go, which remains the judge. */
interface Schedule {
  minute: Set<number>;
  hour: Set<number>;
  day: Set<number>;
  month: Set<number>;
  weekday: Set<number>;
  /** When both days are restricted, either will do. */
  anyDay: boolean;
  anyWeekday: boolean;
}

const presets: Record<string, string> = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function values(field: string, first: number, last: number, names: string[] = []): Set<number> | null {
  const found = new Set<number>();
  const one = (text: string) => {
    const named = names.indexOf(text);
    if (named >= 0) return named + (first === 1 ? 1 : 0);
    return /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  };
  for (const part of field.split(",")) {
    const [range = "", step, more] = part.split("/");
    if (more !== undefined || (step !== undefined && !/^[1-9]\d?$/.test(step))) return null;
    const [from = "", to] = range === "*" ? [String(first), String(last)] : range.split("-");
    const begin = one(from);
    const end = to === undefined ? (step === undefined ? begin : last) : one(to);
    if (!(begin >= first && begin <= end && end <= last)) return null;
    for (let value = begin; value <= end; value += Number(step ?? 1)) found.add(value);
  }
  return found;
}

/** Reads an expression; null when it is none. */
export function parse(expression: string): Schedule | null {
  const typed = expression.trim().toLowerCase();
  const fields = (presets[typed] ?? typed).split(/\s+/);
  if (fields.length !== 5) return null;
  const [m = "", h = "", d = "", mo = "", w = ""] = fields;
  const minute = values(m, 0, 59);
  const hour = values(h, 0, 23);
  const day = values(d, 1, 31);
  const month = values(mo, 1, 12, months);
  const weekday = values(w, 0, 7, weekdays);
  if (!minute || !hour || !day || !month || !weekday) return null;
  if (weekday.has(7)) weekday.add(0);
  return { minute, hour, day, month, weekday, anyDay: d.startsWith("*"), anyWeekday: w.startsWith("*") };
}

/** How far a zone is before UTC at a time, in milliseconds. */
function offset(zone: string, at: number): number {
  const there = wallClock(at, zone);
  return Date.UTC(there.year, there.month - 1, there.day, there.hour, there.minute) - Math.floor(at / 60_000) * 60_000;
}

/** The next times at which a job runs, at most `count`, within five years. */
export function nextRuns(schedule: Schedule, zone: string, after: Date, count: number): Date[] {
  const runs: Date[] = [];
  const now = after.getTime();
  const here = new Date(now + offset(zone, now));
  for (let days = 0; days < 5 * 366 && runs.length < count; days++) {
    const date = new Date(Date.UTC(here.getUTCFullYear(), here.getUTCMonth(), here.getUTCDate() + days));
    if (!schedule.month.has(date.getUTCMonth() + 1)) continue;
    const day = schedule.day.has(date.getUTCDate());
    const weekday = schedule.weekday.has(date.getUTCDay());
    const runsToday = schedule.anyDay || schedule.anyWeekday ? day && weekday : day || weekday;
    if (!runsToday) continue;
    for (const hour of [...schedule.hour].sort((a, b) => a - b)) {
      for (const minute of [...schedule.minute].sort((a, b) => a - b)) {
        const wall = date.getTime() + (hour * 60 + minute) * 60_000;
        const guess = wall - offset(zone, wall);
        const at = wall - offset(zone, guess);
        if (at > now && runs.length < count) runs.push(new Date(at));
      }
    }
  }
  return runs;
}

/** Whether the browser knows a time zone. */
export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return zone !== "";
  } catch {
    return false;
  }
}
