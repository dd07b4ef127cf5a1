import { base64Of } from "../base64";

/** What is to become of a picture: it stays, goes, or is replaced by a file's content as a data URL. */
export type Plan = { keep: true } | { remove: true } | { url: string };

export const kinds = ["logo", "icon"] as const;
export type Picture = (typeof kinds)[number];

/** The largest pictures, in KB. The server remains the judge. */
export const maxKB = { logo: 256, icon: 64 };

/** What is shown of a picture: the present one, the new one, or none. */
export function shownOf(plan: Plan, present: string | null) {
  if ("url" in plan) return plan.url;
  return "remove" in plan ? null : present;
}

/** The pictures of a request: one that stays is left out, an empty one goes. */
export const sent = (plans: Record<Picture, Plan>) =>
  Object.fromEntries(
    kinds.flatMap((kind) => {
      const plan = plans[kind];
      return "keep" in plan ? [] : [[kind, "url" in plan ? base64Of(plan.url) : ""]];
    }),
  ) as Partial<Record<Picture, string>>;
