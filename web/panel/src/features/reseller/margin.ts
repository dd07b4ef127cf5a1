import type { Money } from "~/i18n/formats";

import type { Product, Service } from "./api";

/** What the catalogue asks of customers for a plan's period. */
type Retail = Map<string, Money>;

const at = (plan: number, months: number) => `${plan}/${months}`;

export function retailOf(products: Product[]): Retail {
  const prices: Retail = new Map();
  for (const { plans } of products)
    for (const plan of plans)
      for (const price of plan.prices) prices.set(at(plan.id, price.period_months), price.retail);
  return prices;
}

interface Margin {
  retail: Money;
  margin: Money;
  /** Of the retail price; null when that is nothing. */
  share: number | null;
}

/** What is left of the catalogue's price of a renewal when it is paid; null when the plan is not sold any more. */
export function marginOf(service: Service, prices: Retail): Margin | null {
  const retail = prices.get(at(service.plan.id, service.period_months));
  if (retail?.currency !== service.renew_cost.currency) return null;
  const cost = service.renew_cost;
  return {
    retail,
    margin: { ...retail, amount: retail.amount - cost.amount, usd_cents: retail.usd_cents - cost.usd_cents },
    share: retail.usd_cents > 0 ? (retail.usd_cents - cost.usd_cents) / retail.usd_cents : null,
  };
}

const dollars = (cents: number) => (cents / 100).toFixed(2);

/** A cell of a CSV file. A text that a spreadsheet would take for a formula is quoted by an apostrophe. */
export function cell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

/** The table of services as CSV; amounts are in US dollars. */
export function csv(services: Service[], prices: Retail): string {
  const head = ["client_ref", "service_id", "domain", "plan", "status", "expires_at", "auto_renew", "renewal_covered"];
  const rows = services.map((one) => {
    const margin = marginOf(one, prices);
    return [
      ...[one.client_ref ?? "", String(one.id), one.domain ?? "", one.plan.slug, one.status, one.expires_at ?? ""].map(
        cell,
      ),
      String(one.auto_renew),
      String(one.renewal_covered),
      dollars(one.renew_cost.usd_cents),
      margin ? dollars(margin.retail.usd_cents) : "",
      margin ? dollars(margin.margin.usd_cents) : "",
    ].join(",");
  });
  return [[...head, "renew_cost_usd", "retail_usd", "margin_usd"].join(","), ...rows].join("\r\n") + "\r\n";
}
