import { queryOptions, type QueryClient } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";
import { isOn } from "~/app/boot";
import { usage as usageNow } from "~/ui/usage/api";

import { domainsInNeed } from "./domains";

export type Service = components["schemas"]["Service"];
export type Insight = components["schemas"]["Insight"];
export type Certificate = components["schemas"]["Certificate"];
export type Usage = Partial<Record<"disk_mb" | "bandwidth_gb", { percent: number | null }>>;

/** Services that the overview lists, and those of them that it looks into: of others, notifications tell. */
const listed = 10;
const looked = 5;

/** How long the overview waits for all that it shows. */
const patience = 3000;

export const overviewServices = queryOptions({
  queryKey: ["services", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/services", { params: { query: { per_page: listed } }, signal })),
});

export const wallet = queryOptions({
  queryKey: ["wallet", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/wallet", { params: { query: { per_page: 1 } }, signal })),
});

export const notifications = queryOptions({
  queryKey: ["notifications", "overview"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/notifications", { params: { query: { per_page: 5 } }, signal })),
});

export const unpaid = queryOptions({
  queryKey: ["orders", "unpaid"],
  queryFn: ({ signal }) =>
    call(api.GET("/api/v1/orders", { params: { query: { status: "pending", per_page: 5 } }, signal })),
});

/** How near an end is one that needs the reader. */
export const near = 14 * 24 * 3600 * 1000;

export const domains = queryOptions({
  queryKey: ["domains", "overview"],
  queryFn: ({ signal }) =>
    domainsInNeed(new Date(Date.now() + near), (query) =>
      call(api.GET("/api/v1/domains", { params: { query }, signal })),
    ),
});

const at = (service: number) => ({ path: { service } });

export const usage = (service: number) => ({ ...usageNow(service), staleTime: 60_000 });

export const certificates = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "certificates", "overview"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/services/{service}/ssl", { params: { ...at(service), query: page }, signal })),
      ),
    staleTime: 60_000,
  });

export const insights = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "insights", "overview"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/ai/insights", {
          params: { ...at(service), query: { status: "open", per_page: 5 } },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

/** The services that are looked into for what needs the reader. */
export const lookedInto = (services: Service[]) => services.filter((one) => one.status === "active").slice(0, looked);

/** Reads what the overview shows before it is drawn: what came later would move the rest. Who waits too long gets a part. */
export const loadOverview = (client: QueryClient) =>
  Promise.race([readAll(client), new Promise<void>((resolve) => setTimeout(resolve, patience))]);

async function readAll(client: QueryClient) {
  await Promise.all([
    client.prefetchQuery(notifications),
    isOn("services") && client.prefetchQuery(overviewServices),
    isOn("wallet") && client.prefetchQuery(wallet),
    isOn("orders") && client.prefetchQuery(unpaid),
    isOn("domains") && client.prefetchQuery(domains),
  ]);
  const managed = isOn("service_management");
  const services = client.getQueryData(overviewServices.queryKey)?.data ?? [];
  await Promise.all(
    lookedInto(services).flatMap(({ id }) => [
      managed && client.prefetchQuery(usage(id)),
      managed && client.prefetchQuery(certificates(id)),
      isOn("ai") && client.prefetchQuery(insights(id)),
    ]),
  );
}
