import { sum, times } from "~/i18n/formats";

import type { Movement } from "./api";

type Money = Movement["amount"];

/** What the wallet had at the end of a day of UTC. */
export interface DayBalance {
  day: string;
  balance: Money;
}

const dayLength = 24 * 60 * 60 * 1000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** The first of so many days, of which today is the last. */
export const firstOf = (days: number, now: number) => dayOf(now - (days - 1) * dayLength);

/**
 * The balance of the last days, by the movements of these days, newest first. `whole` says that all of them are there; else the
 * days before the oldest one are left out, and its own.
 */
export function balanceByDay(movements: Movement[], whole: boolean, available: Money, days: number, now: number) {
  const oldest = movements.at(-1);
  const before = oldest ? sum(oldest.balance_after, times(oldest.amount, -1)) : available;
  const list: DayBalance[] = [];
  for (let back = days - 1; back >= 0; back--) {
    const day = dayOf(now - back * dayLength);
    if (!whole && oldest && day <= oldest.created_at.slice(0, 10)) continue;
    const last = movements.find((one) => one.created_at.slice(0, 10) <= day);
    list.push({ day, balance: last?.balance_after ?? before });
  }
  return list;
}
