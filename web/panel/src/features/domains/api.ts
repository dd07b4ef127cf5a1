import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

type Schemas = components["schemas"];
export type Domain = Schemas["Domain"];

/** States in which the registry is at work. */
const waiting = new Set<Domain["status"]>(["pending_payment", "pending_registration", "pending_transfer_in"]);

export const isWaiting = (domain: Domain) => waiting.has(domain.status) || domain.last_operation?.status === "pending";

/** A transfer takes days: it is looked at less often than a registration, which takes seconds. */
const every = (domain: Domain) => (domain.status === "pending_transfer_in" ? 10_000 : 1000);

export const domains = (page: number) =>
  queryOptions({
    queryKey: ["domains", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/domains", { params: { query: { page } }, signal })),
    refetchInterval: (query) => {
      const pending = query.state.data?.data.filter(isWaiting) ?? [];
      return pending.length > 0 ? Math.min(...pending.map(every)) : false;
    },
  });

export const domain = (id: number) =>
  queryOptions({
    queryKey: ["domain", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/domains/{domain}", { params: { path: { domain: id } }, signal })),
    refetchInterval: (query) => (query.state.data && isWaiting(query.state.data) ? every(query.state.data) : false),
  });

export const check = (name: string) =>
  queryOptions({
    queryKey: ["domain-check", name],
    queryFn: ({ signal }) => call(api.GET("/api/v1/domains/check", { params: { query: { domain: name } }, signal })),
    enabled: name !== "",
    staleTime: 60_000,
  });

export const wallet = queryOptions({
  queryKey: ["wallet", "balance"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet", { params: { query: { per_page: 1 } }, signal })),
});

export const orderDomain = (key: string, body: Schemas["DomainsOrderBody"]) =>
  call(api.POST("/api/v1/domains", { params: { header: { "Idempotency-Key": key } }, body }));

export const renew = (id: number, key: string, body: Schemas["DomainsRenewBody"]) =>
  call(
    api.POST("/api/v1/domains/{domain}/renew", {
      params: { path: { domain: id }, header: { "Idempotency-Key": key } },
      body,
    }),
  );

const at = (id: number) => ({ params: { path: { domain: id } } });

export const update = (id: number, body: Schemas["DomainsUpdateBody"]) =>
  call(api.PATCH("/api/v1/domains/{domain}", { ...at(id), body }));

export const setNameservers = (id: number, body: Schemas["DomainsNameserversBody"]) =>
  call(api.PUT("/api/v1/domains/{domain}/nameservers", { ...at(id), body }));

export const setDnssec = (id: number, body: Schemas["DomainsDnssecBody"]) =>
  call(api.PUT("/api/v1/domains/{domain}/dnssec", { ...at(id), body }));

export const setContacts = (id: number, body: Schemas["DomainsContactsBody"]) =>
  call(api.PUT("/api/v1/domains/{domain}/contacts", { ...at(id), body }));

export const authCode = (id: number) => call(api.POST("/api/v1/domains/{domain}/auth-code", at(id)));

export const answerTransfer = (id: number, approve: boolean) =>
  call(api.POST("/api/v1/domains/{domain}/transfer-out", { ...at(id), body: { approve } }));
