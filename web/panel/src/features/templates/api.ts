import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { ApiFailure } from "~/api/failure";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Template = components["schemas"]["Template"];
export type Installation = components["schemas"]["TemplatesInstallation"];
type InstallBody = components["schemas"]["TemplatesInstallBody"];

export const templates = () =>
  queryOptions({
    queryKey: ["templates"],
    queryFn: ({ signal }) =>
      allPages((page) => call(api.GET("/api/v1/templates", { params: { query: page }, signal }))),
  });

/** The template that was last put on the service; null when there was none. */
export const installed = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "template"],
    queryFn: async ({ signal }): Promise<Installation | null> => {
      try {
        return await call(api.GET("/api/v1/services/{service}/template", { params: { path: { service } }, signal }));
      } catch (error) {
        if (error instanceof ApiFailure && error.key === "not_found") return null;
        throw error;
      }
    },
    refetchInterval: (query) => (query.state.data?.status === "pending" ? pace(5000) : false),
  });

export const install = (service: number, body: InstallBody) =>
  call(api.POST("/api/v1/services/{service}/template", { params: { path: { service } }, body }));
