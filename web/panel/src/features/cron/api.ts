import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type CronJob = components["schemas"]["CronJob"];
type NewJob = components["schemas"]["CronCreateBody"];
type JobChange = components["schemas"]["CronUpdateBody"];

export const cronJobs = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "cron"],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/cron", {
          params: { path: { service }, query: { per_page: 50 } },
          signal,
        }),
      ),
    refetchInterval: (query) =>
      query.state.data?.data.some((job) => job.status === "pending" || job.running) ? 1000 : 30_000,
  });

export const createJob = (service: number, body: NewJob) =>
  call(api.POST("/api/v1/services/{service}/cron", { params: { path: { service } }, body }));

export const updateJob = (service: number, cron_job: number, body: JobChange) =>
  call(api.PATCH("/api/v1/services/{service}/cron/{cron_job}", { params: { path: { service, cron_job } }, body }));

export const deleteJob = (service: number, cron_job: number) =>
  call(api.DELETE("/api/v1/services/{service}/cron/{cron_job}", { params: { path: { service, cron_job } } }));
