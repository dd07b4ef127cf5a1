import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

type List = components["schemas"]["DomainsDomainList"];

/** What a page of domains is asked for. */
export interface Query {
  page?: number;
  per_page?: number;
  status?: (typeof ending)[number];
  expires_before?: string;
}

/** States of domains whose end is told. */
const ending = ["active", "expired", "grace", "redemption"] as const;

/** How many of each state are read at most: each event of a domain has the overview read them anew. */
const most = 200;

/**
 * Reads the domains that may need their owner: the newest, which may have an address to confirm, and those that end before a
 * time. Of somebody with thousands of domains the rest is not read: the pages would use up what a session may ask in a minute.
 */
export async function domainsInNeed(soon: Date, read: (query: Query) => Promise<List>): Promise<Pick<List, "data">> {
  const newest = await read({ per_page: 50 });
  if (newest.meta.last_page <= 1) return newest;
  const expires_before = soon.toISOString();
  const ends = await Promise.all(
    ending.map((status) => allPages((page) => read({ ...page, status, expires_before }), most)),
  );
  const found = [newest, ...ends].flatMap(({ data }) => data);
  return { data: [...new Map(found.map((one) => [one.id, one])).values()] };
}
