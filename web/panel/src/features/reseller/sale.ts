import type { Product, World } from "./api";

/** What is to be sold. It stands in the address, so that topping up and reloading keep it. */
export interface Sale {
  world?: World;
  /** Tag of the client. */
  client_ref?: string;
  /** Slug of the plan. */
  plan?: string;
  period?: number;
  domain?: string;
}

export type Plan = Product["plans"][number];
export type Price = Plan["prices"][number];

/** The plans that are for sale and have a price; what a domain is needed for is hosting alone. */
export const plansOf = (products: Product[]): Plan[] =>
  products
    .filter((product) => product.type === "hosting")
    .flatMap((product) => product.plans)
    .filter((plan) => plan.available && plan.prices.length > 0);

export const planOf = (plans: Plan[], slug: string | undefined) => plans.find((one) => one.slug === slug) ?? plans[0];

export const priceOf = (plan: Plan, months: number | undefined): Price | undefined =>
  plan.prices.find((one) => one.period_months === months) ?? plan.prices[0];

/** What is left of the catalogue's price of a period; null where the currencies differ. */
export const leftOf = ({ retail, wholesale }: Price) =>
  retail.currency === wholesale.currency
    ? { ...retail, amount: retail.amount - wholesale.amount, usd_cents: retail.usd_cents - wholesale.usd_cents }
    : null;

/**
 * The path of the page with what was chosen, for the payment page to lead back to. What such a path cannot bear is left out:
 * it is typed again then.
 */
export function backTo(sale: Sale): string {
  const parts = Object.entries({ ...sale, period: sale.period ? String(sale.period) : undefined }).filter(
    ([, value]) => value && /^[\w:.-]+$/.test(value),
  );
  const query = parts.map(([name, value]) => `${name}=${value}`).join("&");
  return "/reseller/new" + (query && `?${query}`);
}
