import { percent } from "~/i18n/formats";

/** An uptime of the interface, such as "99.950", as a share; a dash when nobody has looked. */
export const uptime = (value: string | null) => (value === null ? "–" : percent(Number(value) / 100, 3));
