import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Day = components["schemas"]["LogsDay"];
export type Statistics = components["schemas"]["LogsStatistics"];

export const statistics = (service: number, days: number) =>
  queryOptions({
    queryKey: ["service", service, "statistics", days],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/statistics", { params: { path: { service }, query: { days } }, signal }),
      ),
    placeholderData: keepPreviousData,
  });
