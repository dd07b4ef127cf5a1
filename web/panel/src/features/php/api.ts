import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import type { components } from "~/api/schema";

export type Php = components["schemas"]["PhpWire"];
type PhpChange = components["schemas"]["PhpUpdateBody"];

export const php = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "php"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}/php", { params: { path: { service } }, signal })),
    refetchInterval: (query) => (query.state.data?.status === "pending" ? pace(5000) : false),
  });

export const updatePhp = (service: number, body: PhpChange) =>
  call(api.PATCH("/api/v1/services/{service}/php", { params: { path: { service } }, body }));
