/** What a page of staff gets. */
export interface StaffPage {
  /** The last part of its address, where it is the page of one thing. */
  id: string;
  /** The search parameters, as they came. */
  search: Record<string, unknown>;
  onSearch: (next: Record<string, unknown>) => void;
}

/** A number of the search parameters; undefined where it is none above 0. */
export const numberIn = (value: unknown) => {
  const number = Number(value);
  return Number.isSafeInteger(number) && number > 0 ? number : undefined;
};

/** A text of the search parameters; undefined when it is empty. */
export const textIn = (value: unknown) =>
  (typeof value === "string" || typeof value === "number" ? String(value) : "") || undefined;

/** One of the allowed values of a search parameter. */
export const oneIn = <T extends string>(value: unknown, allowed: readonly T[]) => allowed.find((one) => one === value);
