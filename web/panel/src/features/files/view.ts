import type { Order } from "./paths";

/** What the address says of the list. */
export interface View {
  order?: Order;
  descending?: boolean;
  page?: number;
  /** What is searched for below the directory. */
  q?: string;
  in?: "name" | "content";
}

const orders: readonly unknown[] = ["name", "size", "modified"];

export const readView = (search: Record<string, unknown>): View => ({
  order: orders.includes(search.order) ? (search.order as Order) : undefined,
  descending: search.descending === true || undefined,
  page: Number(search.page) || undefined,
  q: search.q === undefined ? undefined : String(search.q),
  in: search.in === "content" ? "content" : undefined,
});
