import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Release = components["schemas"]["FilesRelease"];

export const releases = (service: number, directory: string) =>
  queryOptions({
    queryKey: ["service", service, "deploys", directory],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/deploys", {
            params: { path: { service }, query: { directory, ...page } },
            signal,
          }),
        ),
      ),
  });

/** Brings back the files of a release; 0 is what was there before the only one. */
export const goBack = (service: number, directory: string, release: number) =>
  call(
    api.POST("/api/v1/services/{service}/deploys/rollback", {
      params: { path: { service } },
      body: { directory, release: release || undefined },
    }),
  );
