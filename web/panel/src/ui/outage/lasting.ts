const units = [
  ["days", 86400],
  ["hours", 3600],
  ["minutes", 60],
  ["seconds", 1],
] as const;

/** The parts of a time: its two largest units. */
export function lasting(seconds: number): [(typeof units)[number][0], number][] {
  const at = units.findIndex(([, length]) => seconds >= length);
  if (at < 0) return [["seconds", 0]];
  let rest = Math.floor(seconds);
  const parts: [(typeof units)[number][0], number][] = [];
  for (const [unit, length] of units.slice(at, at + 2)) {
    const count = Math.floor(rest / length);
    rest -= count * length;
    if (count > 0) parts.push([unit, count]);
  }
  return parts;
}
