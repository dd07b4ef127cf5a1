import { cents } from "~/ui/staff/cents";

/** What a coupon takes off a price: a part of it in hundredths of a percent, or an amount. */
export interface Off {
  percent_basis_points?: number;
  amount_usd_cents?: number;
}

/** What was entered as the worth of a coupon; nothing where it is no number. */
export function offOf(kind: string, text: string): Off {
  const value = cents(text) ?? undefined; // hundredths of a percent are entered as amounts are
  return kind === "amount" ? { amount_usd_cents: value } : { percent_basis_points: value };
}

/** A price after a coupon, as orders count it: a part of a cent is the company's, and nothing is less than free. */
export const priceAfter = (price: number, { percent_basis_points: part = 0, amount_usd_cents: amount = 0 }: Off) =>
  Math.max(0, price - Math.floor((price * part) / 10_000) - amount);

/** Short names between commas and spaces. */
export const namesIn = (text: string) => text.split(/[\s,]+/).filter(Boolean);
