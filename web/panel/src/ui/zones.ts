import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Zone = components["schemas"]["DomainsTld"];

/** The zones in which domains are sold, at the prices that the account pays. */
export const zones = queryOptions({
  queryKey: ["domains", "tlds"],
  queryFn: async ({ signal }) => {
    const list = await allPages((page) => call(api.GET("/api/v1/domains/tlds", { params: { query: page }, signal })));
    return list.data;
  },
  staleTime: 300_000,
});

/** The zone that a name is in: the longest, co.uz before uz. */
export const zoneOf = (name: string, all: Zone[]): Zone | undefined =>
  all
    .filter((one) => name.endsWith(`.${one.tld}`) || name.endsWith(`.${one.unicode_tld}`))
    .sort((a, b) => b.tld.length - a.tld.length)[0];
