import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type HostedDomain = components["schemas"]["HostingDomain"];
export type NewDomain = components["schemas"]["HostingCreateBody"];
type DomainChange = components["schemas"]["HostingUpdateBody"];

const changing = (domain: HostedDomain) => domain.status === "pending" || domain.status === "removing";

/** All domains of a service. */
export const domains = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "domains"],
    queryFn: async ({ signal }) => {
      const { data } = await allPages((page) =>
        call(api.GET("/api/v1/services/{service}/domains", { params: { path: { service }, query: page }, signal })),
      );
      return data;
    },
    refetchInterval: (query) => (query.state.data?.some(changing) ? pace(5000) : false),
  });

export const createDomain = (service: number, body: NewDomain) =>
  call(api.POST("/api/v1/services/{service}/domains", { params: { path: { service } }, body }));

export const updateDomain = (service: number, domain: number, body: DomainChange) =>
  call(
    api.PATCH("/api/v1/services/{service}/domains/{hosted_domain}", {
      params: { path: { service, hosted_domain: domain } },
      body,
    }),
  );

export const deleteDomain = (service: number, domain: number) =>
  call(
    api.DELETE("/api/v1/services/{service}/domains/{hosted_domain}", {
      params: { path: { service, hosted_domain: domain } },
    }),
  );
