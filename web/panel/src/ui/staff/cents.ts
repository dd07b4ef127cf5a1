/** Cents of an amount as people type it: 25, 25.5, 25,50; null when it is none. */
export function cents(text: string): number | null {
  const match = /^\$?\s*(\d{1,7})(?:[.,](\d{1,2}))?$/.exec(text.trim());
  if (!match) return null;
  const value = Number(match[1]) * 100 + Number((match[2] ?? "").padEnd(2, "0"));
  return value > 0 ? value : null;
}

/** Cents as they stand in a field. */
export const typed = (value: number) => (value / 100).toFixed(2);
