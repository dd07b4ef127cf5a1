import type { Tone } from "~/ui/Status";

import type { Attention, Hit } from "./api";

/** An address below /staff/, and its search parameters. */
interface Place {
  to: string;
  search?: Record<string, string>;
}

const list = (to: string, search?: Record<string, string>): Place => ({ to, search });
const one = (kind: string, id: number): Place => ({ to: `${kind}/${id}` });

/** Where what needs attention is mended: the list of exactly what the dashboard counts. */
export function cure({ kind }: Attention): Place {
  switch (kind) {
    case "orders_processing":
      return list("orders", { attention: kind });
    case "services_provisioning":
    case "services_failed":
    case "services_ending":
    case "renewals_failing":
      return list("services", { attention: kind });
    case "certificates_failing":
      return list("certificates", { attention: kind });
    case "topups_waiting":
      return list("topups", { attention: kind });
    case "domains_waiting":
      return list("domains", { attention: kind });
    case "tickets_waiting":
      return list("tickets", { status: "open" });
    case "jobs_failing":
      return list("jobs", { state: "retryable", min_attempts: "3" });
    case "jobs_discarded":
      return list("jobs", { state: "discarded" });
    case "queues_paused":
      return list("queues");
    case "addons_waiting":
      return list("addons");
    case "reviews_pending":
      return list("reviews");
    case "sla_proposed":
      return list("sla");
    case "webhooks_failing":
      return list("webhook-endpoints", { attention: kind });
    case "nodes_silent":
      return list("nodes", { attention: kind });
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

/**
 * Where the page of a hit is: its own, or that of its customer. `q` is what was searched for; the audit log is for those who may
 * read it.
 */
export function pageOf({ kind, id, account_id: account, title }: Hit, q: string, mayAudit: boolean): Place | null {
  switch (kind) {
    case "job":
      return list("jobs", { request_id: q });
    case "domain":
      return list("domains", { q: title });
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
      if (kind === "audit" && mayAudit) return list("audit", { request_id: q });
      return account > 0 ? one("customers", account) : null;
  }
}
