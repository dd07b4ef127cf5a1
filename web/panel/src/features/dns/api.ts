import { queryOptions, useMutation, useQueryClient, type QueryClient } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";
import { boot } from "~/app/boot";

export type DnsRecord = components["schemas"]["DnsRecord"];
export type DnsImport = components["schemas"]["DnsImport"];
type NewRecord = components["schemas"]["DnsCreateBody"];
type RecordChange = components["schemas"]["DnsUpdateBody"];

const key = (service: number, zone?: string) => ["service", service, "dns", ...(zone ? ["zone", zone] : [])] as const;

/**
 * All records of a zone, that of the primary domain unless another is named. There are 1,000 at most: the table searches them
 * without asking again.
 */
export const dnsRecords = (service: number, zone?: string) =>
  queryOptions({
    queryKey: key(service, zone),
    queryFn: async ({ signal }) => {
      const { data } = await allPages(
        async (page) =>
          (await call(
            api.GET("/api/v1/services/{service}/dns", {
              params: { path: { service }, query: { zone, ...page } },
              signal,
            }),
          )) as components["schemas"]["DnsRecordList"],
      );
      return data;
    },
  });

/** What the service says of its zone: its name and its name servers; a reseller's client may not ask. */
export const zoneOf = (service: number) =>
  queryOptions({
    queryKey: ["service", service],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service } }, signal })),
    enabled: !boot.client,
  });

/** The domains of the service that have a zone of their own: those that are not below another one. */
export const zonesOf = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "domains", "zones"],
    queryFn: async ({ signal }) => {
      const { data } = await allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/domains", {
            params: { path: { service }, query: page },
            signal,
          }),
        ),
      );
      return data.filter(({ name }) => !data.some((other) => name.endsWith(`.${other.name}`)));
    },
  });

export const createRecord = async (service: number, zone: string | undefined, body: NewRecord) =>
  (await call(
    api.POST("/api/v1/services/{service}/dns", { params: { path: { service }, query: { zone } }, body }),
  )) as DnsRecord;

export const importZone = async (service: number, zone: string | undefined, bind: string, validateOnly: boolean) =>
  (await call(
    api.POST("/api/v1/services/{service}/dns", {
      params: { path: { service }, query: { zone, validate_only: validateOnly } },
      body: { bind },
    }),
  )) as DnsImport;

export const deleteRecord = (service: number, record: number) =>
  call(
    api.DELETE("/api/v1/services/{service}/dns/{dns_record}", { params: { path: { service, dns_record: record } } }),
  );

interface Edit {
  id: number;
  change: RecordChange;
}

const patched = (
  queries: QueryClient,
  { queryKey }: ReturnType<typeof dnsRecords>,
  id: number,
  change: Partial<DnsRecord>,
) =>
  queries.setQueryData(queryKey, (all) => all?.map((record) => (record.id === id ? { ...record, ...change } : record)));

/**
 * Changes of records, one after the other. A change is on the page at once; a refused one is taken back alone, so that
 * what was changed beside it stays.
 */
export function useRecordChange(service: number, zone?: string) {
  const queries = useQueryClient();
  const records = dnsRecords(service, zone);
  const mutationKey = ["dns", service];
  /** Whether another change of the record waits its turn. */
  const queued = (id: number) =>
    queries
      .getMutationCache()
      .findAll({ mutationKey, status: "pending" })
      .some(({ state }) => state.isPaused && (state.variables as Edit | undefined)?.id === id);
  return useMutation({
    mutationKey,
    scope: { id: `dns-${service}` },
    mutationFn: ({ id, change }: Edit) =>
      call(
        api.PATCH("/api/v1/services/{service}/dns/{dns_record}", {
          params: { path: { service, dns_record: id } },
          body: change,
        }),
      ),
    onMutate: async ({ id, change }) => {
      await queries.cancelQueries({ queryKey: key(service) });
      const before = queries.getQueryData(records.queryKey)?.find((record) => record.id === id);
      patched(queries, records, id, change);
      return { before };
    },
    onError: (_error, { id }, context) => {
      if (context?.before && !queued(id)) patched(queries, records, id, context.before);
    },
    onSuccess: (record) => {
      if (!queued(record.id)) patched(queries, records, record.id, record);
    },
    // An earlier answer would wipe a later change, still on its way, from the page.
    onSettled: () => {
      if (queries.isMutating({ mutationKey }) === 1) return queries.invalidateQueries({ queryKey: key(service) });
    },
  });
}
