import { lasting } from "./lasting";
import { t } from "./texts";

/** Why something was down, in words; a key that the panel does not know stands as it is. */
export const cause = (key: string): string => t(key as "timeout");

/** How long something lasted, such as "2 h 5 min". */
export const duration = (seconds: number) =>
  lasting(seconds)
    .map(([unit, count]) => t(unit, { count }))
    .join(" ");
