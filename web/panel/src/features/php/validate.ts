import type { Php } from "./api";

type Type = Php["options"][string]["type"];

/** Whether a value that was typed for an option can be sent. An empty one means the default. */
export const isGood = (type: Type | undefined, typed: string) =>
  type !== "integer" || typed.trim() === "" || /^\d+$/.test(typed.trim());

/** The value of an option as the interface takes it; null for the default. */
export function valueOf(type: Type | undefined, typed: string): number | boolean | string | null {
  if (typed.trim() === "") return null;
  return type === "integer" ? Number(typed) : type === "boolean" ? typed === "true" : typed.trim();
}
