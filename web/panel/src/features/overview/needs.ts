import type { components } from "~/api/schema";

import type { Usage } from "./api";

type Schemas = components["schemas"];

/** Something that the reader has to do, and the page where it is done. */
export interface Need {
  key: string;
  tone: "warn" | "bad";
  text:
    | "need.unpaid_order"
    | "need.renewals"
    | "need.past_due"
    | "need.suspended"
    | "need.ends"
    | "need.disk"
    | "need.traffic"
    | "need.certificate"
    | "need.insight"
    | "need.domain_expires"
    | "need.domain_verify";
  values: Record<string, string>;
  to: string;
  /** A time that the text ends with. */
  time?: string | null;
}

interface Seen {
  orders: Schemas["Order"][];
  wallet?: Pick<Schemas["Wallet"], "upcoming_renewals">;
  services: Schemas["Service"][];
  domains: Schemas["Domain"][];
  /** By id of the service. */
  usage: Map<number, Usage>;
  certificates: Map<number, Pick<Schemas["Certificate"], "status" | "common_name">[]>;
  insights: Map<number, Pick<Schemas["Insight"], "id" | "severity" | "title">[]>;
}

const nameOf = (service: Schemas["Service"]) => service.unicode_domain ?? service.label;

/** How many of the services were looked at: those whose answers are there, and those that are not active, which need none. */
export const lookedAt = (services: Pick<Schemas["Service"], "id" | "status">[], answered: (id: number) => boolean) =>
  services.filter((one) => one.status !== "active" || answered(one.id)).length;

/** What needs the reader, the worst first. `soon` is the time until which an end counts as near. */
export function needs(seen: Seen, soon: Date, amount: (value: Schemas["Money"]) => string): Need[] {
  const all: Need[] = [];
  for (const order of seen.orders)
    all.push({
      key: `order ${order.id}`,
      tone: "warn",
      text: "need.unpaid_order",
      values: { number: order.number, amount: amount(order.total) },
      to: `/orders/${order.id}`,
    });
  if (seen.wallet && !seen.wallet.upcoming_renewals.covered)
    all.push({
      key: "renewals",
      tone: "warn",
      text: "need.renewals",
      values: { amount: amount(seen.wallet.upcoming_renewals.next_30d) },
      to: "/wallet",
    });
  for (const service of seen.services) {
    const values = { name: nameOf(service) };
    const add = (
      tone: Need["tone"],
      text: Need["text"],
      to: string,
      more: Record<string, string> = {},
      time?: string | null,
    ) =>
      all.push({
        key: `${service.id} ${text} ${Object.values(more).join()}`,
        tone,
        text,
        values: { ...values, ...more },
        to,
        time,
      });
    const plan = `/services/${service.id}/plan`;
    const home = `/services/${service.id}`;
    if (service.status === "past_due") add("bad", "need.past_due", plan);
    if (service.status === "suspended") add("bad", "need.suspended", service.suspend_reason === "unpaid" ? plan : home);
    if (service.status === "active" && !service.auto_renew && service.expires_at && new Date(service.expires_at) < soon)
      add("warn", "need.ends", plan, {}, service.expires_at);
    const used = seen.usage.get(service.id);
    for (const [meter, text] of [
      ["disk_mb", "need.disk"],
      ["bandwidth_gb", "need.traffic"],
    ] as const) {
      const percent = used?.[meter]?.percent;
      if (percent && percent >= 90) add(percent >= 100 ? "bad" : "warn", text, plan, { percent: String(percent) });
    }
    for (const one of seen.certificates.get(service.id) ?? [])
      if (["failed", "expired", "expiring"].includes(one.status))
        add(one.status === "expiring" ? "warn" : "bad", "need.certificate", `${home}/certificates`, {
          domain: one.common_name,
        });
    for (const one of seen.insights.get(service.id) ?? [])
      if (one.severity === "critical" || one.severity === "high")
        add(one.severity === "critical" ? "bad" : "warn", "need.insight", `${home}/health`, { title: one.title });
  }
  for (const domain of seen.domains) {
    const values = { name: domain.unicode_name };
    const to = `/domains/${domain.id}`;
    if (domain.verification.status === "pending")
      all.push({ key: `verify ${domain.id}`, tone: "warn", text: "need.domain_verify", values, to });
    const ends = domain.status !== "active" || !domain.auto_renew;
    if (
      ["active", "expired", "grace", "redemption"].includes(domain.status) &&
      ends &&
      domain.expires_at &&
      new Date(domain.expires_at) < soon
    )
      all.push({
        key: `domain ${domain.id}`,
        tone: domain.status === "active" ? "warn" : "bad",
        text: "need.domain_expires",
        values,
        to,
        time: domain.expires_at,
      });
  }
  return all.sort((a, b) => Number(a.tone === "warn") - Number(b.tone === "warn"));
}
