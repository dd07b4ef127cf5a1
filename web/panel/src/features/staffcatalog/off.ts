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

/** Whether a coupon is accepted, and why not: it was ended, its time is over, or it was redeemed as often as it may be. */
export function couponState(
  coupon: { disabled_at: string | null; ends_at: string | null; max_total?: number | null; redeemed: number },
  now: Date,
): "valid" | "over" | "used_up" {
  if (coupon.disabled_at || (coupon.ends_at && new Date(coupon.ends_at) <= now)) return "over";
  return coupon.max_total && coupon.redeemed >= coupon.max_total ? "used_up" : "valid";
}

/** Short names between commas and spaces. */
export const namesIn = (text: string) => text.split(/[\s,]+/).filter(Boolean);
