type Kind = "addon" | "subdomain" | "alias" | "redirect";

/** Why a domain's name is not possible, as the name of a text; null when it is. The server remains the judge. */
export function nameProblem(
  name: string,
  kind: Kind,
  own: string[],
): "name.empty" | "name.characters" | "name.dot" | "name.below" | null {
  const typed = name.trim().toLowerCase().replace(/\.$/, "");
  if (typed === "") return "name.empty";
  if (!/^(?!-)[^\s/:@.]+(\.[^\s/:@.]+)*$/.test(typed) || typed.length > 253) return "name.characters";
  if (!typed.includes(".")) return "name.dot";
  if (kind === "subdomain" && !own.some((above) => typed.endsWith(`.${above}`))) return "name.below";
  return null;
}

/** Why an address cannot be redirected to. */
export function targetProblem(target: string): "target.empty" | "target.url" | null {
  if (target.trim() === "") return "target.empty";
  try {
    const url = new URL(target.trim());
    return ["http:", "https:"].includes(url.protocol) && url.hostname.includes(".") ? null : "target.url";
  } catch {
    return "target.url";
  }
}

interface Wanted {
  type: "A" | "AAAA";
  name: string;
  value: string;
  /** Whether the DNS shows it already. */
  there: boolean;
}

/** The records that bring a domain here, beside what the DNS shows now. */
export const wantedRecords = (name: string, expected: string[], found: string[]): Wanted[] =>
  expected.map((value) => ({
    type: value.includes(":") ? "AAAA" : "A",
    name,
    value,
    there: found.includes(value),
  }));
