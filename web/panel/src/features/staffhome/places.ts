import type { Tone } from "~/ui/Status";

import type { Attention, Hit } from "./api";

/** An address below /staff/, and its search parameters. */
interface Place {
  to: string;
  search?: Record<string, string>;
}

const list = (to: string, status?: string): Place => ({ to: to, search: status ? { status } : undefined });
const one = (kind: string, id: number): Place => ({ to: `${kind}/${id}` });

/** Where what needs attention is mended. */
export function cure({ kind, oldest_id: id }: Attention): Place {
  switch (kind) {
    case "orders_processing":
      return list("orders", "processing");
    case "services_provisioning":
      return list("services", "provisioning");
    case "services_failed":
      return list("services", "failed");
    case "services_ending":
      return list("services", "terminating");
    case "renewals_failing":
    case "certificates_failing":
      return one("services", id);
    case "topups_waiting":
      return list("topups");
    case "tickets_waiting":
      return list("tickets", "open");
    case "jobs_failing":
    case "jobs_discarded":
    case "queues_paused":
    case "domains_waiting": // a registry is asked again by a job
      return list("jobs");
    case "addons_waiting":
      return list("addons");
    case "reviews_pending":
      return list("reviews");
    case "sla_proposed":
      return list("sla");
    case "webhooks_failing":
      return list("webhooks", "retry");
    case "nodes_silent":
      return list("nodes");
  }
}

const broken = new Set<Attention["kind"]>([
  "services_failed",
  "jobs_discarded",
  "webhooks_failing",
  "certificates_failing",
  "nodes_silent",
]);

/** How bad it is: broken, or only waiting. */
export const tone = (kind: Attention["kind"]): Tone => (broken.has(kind) ? "bad" : "warn");

/** Where the page of a hit is: its own, or that of its customer. */
export function pageOf({ kind, id, account_id: account }: Hit): Place | null {
  switch (kind) {
    case "account":
      return one("customers", id);
    case "service":
    case "hosted_domain":
      return one("services", id);
    case "order":
      return one("orders", id);
    case "ticket":
      return one("tickets", id);
    case "topup":
      return list("topups");
    case "node":
      return list("nodes");
    default:
      return account > 0 ? one("customers", account) : null;
  }
}
