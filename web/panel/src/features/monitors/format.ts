import { percent } from "~/i18n/formats";
import { duration } from "~/ui/outage/outage";

/** An uptime of the interface, such as "99.950", as a share; a dash when nobody has looked. */
export const uptime = (value: string | null) => (value === null ? "–" : percent(Number(value) / 100, 3));

/** Times to choose from, in seconds, with the one that is set; none is what 0 means. */
export const times = (list: number[], own: string, none: string) =>
  [...new Set([...list, Number(own)])]
    .sort((a, b) => a - b)
    .map((seconds) => ({ value: String(seconds), label: seconds ? duration(seconds) : none }));

export const delays = [0, 60, 300, 600, 1800, 3600];
export const reminders = [0, 3600, 21_600, 86_400];
