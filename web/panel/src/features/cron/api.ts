import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type CronJob = components["schemas"]["CronJob"];
type NewJob = components["schemas"]["CronCreateBody"];
type JobChange = components["schemas"]["CronUpdateBody"];

export const cronJobs = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "cron"],
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/cron", {
            params: { path: { service }, query: page },
            signal,
          }),
        ),
      ),
    // No event tells of the runs: the machine is asked for them.
    refetchInterval: ({ state }) => {
      const jobs = state.data?.data ?? [];
      if (jobs.some((job) => job.running)) return 3000;
      return jobs.some((job) => job.status === "pending") ? pace(5000) : 30_000;
    },
  });

export const createJob = (service: number, body: NewJob) =>
  call(api.POST("/api/v1/services/{service}/cron", { params: { path: { service } }, body }));

export const updateJob = (service: number, cron_job: number, body: JobChange) =>
  call(api.PATCH("/api/v1/services/{service}/cron/{cron_job}", { params: { path: { service, cron_job } }, body }));

export const deleteJob = (service: number, cron_job: number) =>
  call(api.DELETE("/api/v1/services/{service}/cron/{cron_job}", { params: { path: { service, cron_job } } }));
