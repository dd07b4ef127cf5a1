/** What is to become of a picture: it stays, goes, or is replaced by a file's content as a data URL. */
export type Plan = { keep: true } | { remove: true } | { url: string };

/** The largest pictures, in KB. The server remains the judge. */
export const maxKB = { logo: 256, icon: 64 };

/** What is shown of a picture: the present one, the new one, or none. */
export function shownOf(plan: Plan, present: string | null) {
  if ("url" in plan) return plan.url;
  return "remove" in plan ? null : present;
}
