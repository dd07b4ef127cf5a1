import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Password = components["schemas"]["CredentialsPassword"];
export type Shown = components["schemas"]["CredentialsShown"];

/** The passwords that a service has, without them: the one that is shown is kept nowhere. */
export const passwords = (service: number, page = 1) =>
  queryOptions({
    queryKey: ["service", service, "passwords", page],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/passwords", {
          params: { path: { service }, query: { page, per_page: 50 } },
          signal,
        }),
      ),
  });

const one = (service: number, password: number) => ({ params: { path: { service, password } } });

export const reveal = (service: number, password: number) =>
  call(api.POST("/api/v1/services/{service}/passwords/{password}/reveal", one(service, password)));

export const reset = (service: number, password: number) =>
  call(api.POST("/api/v1/services/{service}/passwords/{password}/reset", one(service, password)));
