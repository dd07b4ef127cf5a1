import type { Order } from "./api";

export const statuses = [
  "pending",
  "paid",
  "processing",
  "completed",
  "failed",
  "refunded",
  "cancelled",
  "expired",
] as const satisfies readonly Order["status"][];

/** What somebody has chosen so far. It stands in the address, so that reloading and signing in keep it. */
export interface Choice {
  /** Slug of the plan, or its id. */
  plan?: string;
  period?: number;
  domain?: string;
  /** The domain is to be registered. */
  register?: boolean;
  /** Extras with their quantities: "extra_disk:2,extra_backup". */
  addons?: string;
  coupon?: string;
}

const text = (value: unknown, longest: number) =>
  (typeof value === "string" || typeof value === "number") && value !== ""
    ? String(value).slice(0, longest)
    : undefined;

/** Reads a choice from an address, where anything may stand. */
export const readChoice = (search: Record<string, unknown>): Choice => ({
  plan: text(search.plan, 64),
  period: Number(search.period) > 0 ? Math.trunc(Number(search.period)) : undefined,
  domain: text(search.domain, 255),
  register: search.register === true || search.register === 1 || search.register === "1" ? true : undefined,
  addons: text(search.addons, 500),
  coupon: text(search.coupon, 64),
});
