/** Why a name is not possible, as the name of a text; null when it is. The server remains the judge. */
export function nameProblem(name: string): "name.empty" | "name.characters" | "name.long" | null {
  if (name === "") return "name.empty";
  if (name.length > 24) return "name.long";
  return /^[a-z0-9_]+$/.test(name) ? null : "name.characters";
}
