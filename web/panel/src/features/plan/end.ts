import type { components } from "~/api/schema";

import type { Service } from "./api";

type Terms = components["schemas"]["CatalogProduct"]["terms"];

/** When a service that is not renewed goes offline, when it is over, and until when it can be brought back. */
export interface End {
  offline: Date;
  over: Date;
  kept: Date;
}

const dayLength = 24 * 60 * 60 * 1000;
const after = (time: Date, days: number) => new Date(time.getTime() + days * dayLength);

/**
 * The end of a service by the terms of its product; null for one that has no paid time, is over, or that staff or its reseller have
 * suspended, which has no end before they decide.
 */
export function endOf(
  service: Pick<Service, "status" | "expires_at" | "grace_until" | "suspended_at" | "terminates_at">,
  terms: Terms,
): End | null {
  const { status, expires_at, grace_until, suspended_at, terminates_at } = service;
  const ends = (offline: Date, over: Date): End => ({ offline, over, kept: after(over, terms.kept_days) });
  const fixed = terminates_at ? new Date(terminates_at) : null;
  if (!expires_at) return null;
  if (status === "suspended") return fixed && suspended_at ? ends(new Date(suspended_at), fixed) : null;
  if (status !== "active" && status !== "past_due") return null;
  if (fixed) return ends(fixed, fixed);
  const offline = grace_until ? new Date(grace_until) : after(new Date(expires_at), terms.grace_days);
  return ends(offline, after(offline, terms.suspended_days));
}
