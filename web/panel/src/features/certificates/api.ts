import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Certificate = components["schemas"]["Certificate"];
export type CertificateRequest = components["schemas"]["CertificatesRequestBody"];

const busy = new Set<Certificate["status"]>(["pending", "issuing", "renewing"]);

export const certificates = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "certificates"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/ssl", {
            params: { path: { service }, query: page },
            signal,
          }),
        ),
      ),
    refetchInterval: (query) => (query.state.data?.data.some((one) => busy.has(one.status)) ? pace(5000) : false),
  });

export const requestCertificate = (service: number, body: CertificateRequest) =>
  call(api.POST("/api/v1/services/{service}/ssl", { params: { path: { service } }, body }));
