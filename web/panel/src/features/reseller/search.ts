import type { Tone } from "~/ui/Status";

import type { Filter, Service, World } from "./api";

/** The search parameters of the table. They are read before its page is loaded. */
export interface Search extends Filter {
  world?: World;
  page?: number;
}

export const statuses = [
  "pending",
  "provisioning",
  "active",
  "past_due",
  "suspended",
  "terminating",
  "terminated",
  "failed",
  "cancelled",
] as const satisfies readonly Service["status"][];

export const tones: Record<Service["status"], Tone> = {
  pending: "busy",
  provisioning: "busy",
  active: "good",
  past_due: "warn",
  suspended: "warn",
  terminating: "busy",
  terminated: "neutral",
  failed: "bad",
  cancelled: "neutral",
};
