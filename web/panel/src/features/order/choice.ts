import { cleanDomain } from "~/ui/domainname";

import type { Addon, DomainCheck, OwnDomain, Plan, Price, Product } from "./api";

export type Quantities = Record<string, number>;

export const readAddons = (list: string | undefined): Quantities =>
  Object.fromEntries(
    (list ?? "")
      .split(",")
      .map((one) => one.split(":"))
      .filter(([key]) => /^[a-z0-9_-]+$/.test(key ?? ""))
      .map(([key, count]) => [key ?? "", Math.max(1, Math.trunc(Number(count ?? 1)) || 1)]),
  );

export const writeAddons = (quantities: Quantities): string | undefined =>
  Object.entries(quantities)
    .filter(([, count]) => count > 0)
    .map(([key, count]) => (count === 1 ? key : `${key}:${count}`))
    .join(",") || undefined;

/** The plan that the address names; else the first one that is for sale. */
export function findPlan(products: Product[], wanted: string | undefined): Plan | undefined {
  const plans = products.flatMap((product) => product.plans).filter((plan) => plan.available && plan.prices.length > 0);
  return plans.find((plan) => plan.slug === wanted || String(plan.id) === wanted) ?? plans[0];
}

export const findPrice = (plan: Plan, period: number | undefined): Price | undefined =>
  plan.prices.find((price) => price.period_months === period) ?? plan.prices[0];

/** How much cheaper a month is than in the shortest period, in whole percent; 0 when it is not. */
export function saving(plan: Plan, price: Price): number {
  const shortest = plan.prices.reduce((a, b) => (b.period_months < a.period_months ? b : a));
  const month = shortest.price.usd_cents / shortest.period_months;
  if (month <= 0) return 0;
  return Math.max(0, Math.floor((1 - price.price.usd_cents / price.period_months / month) * 100));
}

/** The price of an extra for a period: its own, or that of the longest named one that goes into it, as often as it takes. */
export function addonPrice(addon: Addon, months: number) {
  const fitting = addon.prices.filter((one) => months % one.period_months === 0);
  const best = fitting.reduce<(typeof fitting)[number] | undefined>(
    (a, b) => (a && a.period_months >= b.period_months ? a : b),
    undefined,
  );
  return best && { price: best.price, count: months / best.period_months };
}

/** Whether charges are not more than the cents that somebody has agreed to; nobody has when none are known. */
export const isAgreed = (charges: { usd_cents: number }[], agreed: string | null) =>
  agreed !== null && charges.reduce((all, one) => all + one.usd_cents, 0) <= Number(agreed);

type DomainProblem = "domain.empty" | "domain.form" | "domain.www";

/** Why a name is not one of a site; null when it is. International names are taken as they are written. */
export function domainProblem(typed: string): DomainProblem | null {
  const name = cleanDomain(typed);
  if (name === "") return "domain.empty";
  if (name.startsWith("www.")) return "domain.www";
  if (name.length > 253) return "domain.form";
  const labels = name.split(".");
  const good = labels.every((label) => /^[\p{L}\p{N}]([\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?$/u.test(label));
  return labels.length > 1 && good && !/^\d+$/.test(labels.at(-1) ?? "") ? null : "domain.form";
}

/** States of a domain that the account does not hold any more, or never got. */
const lost = new Set<OwnDomain["status"]>(["transferred_out", "cancelled", "failed"]);

/** Whether the account holds a domain, by what its list has for the name, in ASCII. */
export const isHeld = (found: Pick<OwnDomain, "name" | "status">[], name?: string) =>
  found.some((one) => one.name === name && !lost.has(one.status));

/**
 * How an order stands with the domain that is to be registered with it: the price when it is to be bought now, "none" when
 * there is nothing to buy, and "open" when it can neither be bought now nor is the account's own. Then the person decides.
 */
export function registrationOf(
  domain: string,
  held: boolean,
  check: Pick<DomainCheck, "available" | "price"> | undefined,
): NonNullable<DomainCheck["price"]> | "none" | "open" {
  if (domain === "" || held) return "none";
  return (check?.available && check.price) || "open";
}
