import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Database = components["schemas"]["Database"];
export type NewDatabase = components["schemas"]["DatabasesCreateBody"];

const changing = (database: Database) => database.status === "creating" || database.status === "removing";

export const databases = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "databases"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(api.GET("/api/v1/services/{service}/databases", { params: { path: { service }, query: page }, signal })),
      ),
    refetchInterval: (query) => (query.state.data?.data.some(changing) ? pace(5000) : false),
  });

export const createDatabase = (service: number, body: NewDatabase) =>
  call(api.POST("/api/v1/services/{service}/databases", { params: { path: { service } }, body }));

export const deleteDatabase = (service: number, database: number) =>
  call(api.DELETE("/api/v1/services/{service}/databases/{database}", { params: { path: { service, database } } }));

export const openDatabase = (service: number, database: number) =>
  call(api.POST("/api/v1/services/{service}/databases/{database}/open", { params: { path: { service, database } } }));
