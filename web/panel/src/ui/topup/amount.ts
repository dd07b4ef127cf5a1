/** Cents of an amount in dollars that somebody typed; null when it is none. */
export function centsOf(typed: string | number): number | null {
  const text = String(typed).trim().replace(",", ".");
  return /^\d{1,7}(\.\d{1,2})?$/.test(text) ? Math.round(Number(text) * 100) : null;
}

/** Dollars for a field, such as "12.50". */
export const dollars = (cents: number) => (cents / 100).toFixed(2);

/** What a gateway adds to an amount: the same rule as the server's, which rounds half up. */
export const feeOf = (cents: number, gateway: { fee_percent_bp: number; fee_fixed: { usd_cents: number } }) =>
  gateway.fee_fixed.usd_cents + Math.round((cents * gateway.fee_percent_bp) / 10_000);
