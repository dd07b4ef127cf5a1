import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";

/** What a service uses of what its plan grants. */
export const usage = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "usage"],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services/{service}/usage", { params: { path: { service } }, signal })),
  });
