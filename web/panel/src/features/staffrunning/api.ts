import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";
import type { readTarget } from "~/ui/staff/labels";

export type Node = Schemas["AdminNode"];
export const deliveryStatuses = ["pending", "sending", "success", "retry", "failed", "discarded"] as const;

export const nodes = (query: { attention?: "nodes_silent" }) =>
  queryOptions({
    queryKey: ["staff", "nodes", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/nodes", { params: { query }, signal })),
    refetchInterval: 10_000,
  });

type Target = ReturnType<typeof readTarget>;

const of = (node: string) => ({ params: { path: { node } } });
export const addNode = (body: Schemas["StaffNewNodeBody"]) => call(staff.POST("/api/v1/admin/nodes", { body }));
export const drain = (node: string) => call(staff.POST("/api/v1/admin/nodes/{node}/drain", of(node)));
export const maintain = (node: string, on: boolean, reason: string) =>
  call(staff.PUT("/api/v1/admin/nodes/{node}/maintenance", { ...of(node), body: { on, reason } }));
export const resume = (node: string) => call(staff.POST("/api/v1/admin/nodes/{node}/resume", of(node)));
export const upgrade = (node: string, reason: string) =>
  call(staff.POST("/api/v1/admin/nodes/{node}/upgrade", { ...of(node), body: { reason } }));
export const rejoin = (node: string) => call(staff.POST("/api/v1/admin/nodes/{node}/rejoin", of(node)));
export const setNode = (node: string, body: Schemas["StaffSetNodeBody"]) =>
  call(staff.PATCH("/api/v1/admin/nodes/{node}", { ...of(node), body }));
export const recover = (node: string, target: Target, reason: string) =>
  call(staff.POST("/api/v1/admin/nodes/{node}/recover", { ...of(node), body: { ...target, reason } }));
export const evacuate = (node: string, target: Target, now: boolean, reason: string) =>
  call(staff.POST("/api/v1/admin/nodes/{node}/evacuate", { ...of(node), body: { ...target, now, reason } }));

export type Job = Schemas["JobsListed"];
export const jobStates = [
  "retryable",
  "discarded",
  "cancelled",
  "running",
  "available",
  "scheduled",
  "pending",
  "completed",
] as const satisfies Job["state"][];

export interface JobSearch {
  page?: number;
  state?: Job["state"];
  kind?: string;
  queue?: string;
  min_attempts?: number;
  request_id?: string;
}

export const jobs = (query: JobSearch) =>
  queryOptions({
    queryKey: ["staff", "jobs", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/jobs", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  });
export const job = (id: number) =>
  queryOptions({
    queryKey: ["staff", "jobs", "one", id],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/jobs/{job}", { params: { path: { job: id } }, signal })),
  });
export const cancelJob = (id: number, reason: string) =>
  call(staff.POST("/api/v1/admin/jobs/{job}/cancel", { params: { path: { job: id } }, body: { reason } }));
export const retryJob = (job: number) =>
  call(staff.POST("/api/v1/admin/jobs/{job}/retry", { params: { path: { job } } }));

export const queues = queryOptions({
  queryKey: ["staff", "queues"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/queues", { signal })),
  refetchInterval: 10_000,
});
export const pauseQueue = (queue: string, paused: boolean, reason: string) => {
  const of = { params: { path: { queue } }, body: { reason } };
  return call(
    paused
      ? staff.POST("/api/v1/admin/queues/{queue}/pause", of)
      : staff.POST("/api/v1/admin/queues/{queue}/resume", of),
  );
};

export const deliveries = (query: { page?: number; status?: (typeof deliveryStatuses)[number] }) =>
  queryOptions({
    queryKey: ["staff", "deliveries", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/webhooks/deliveries", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export type Endpoint = Schemas["AdminEndpoint"];

export const endpoints = (query: { page?: number; attention?: "webhooks_failing" }) =>
  queryOptions({
    queryKey: ["staff", "endpoints", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/webhooks/endpoints", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export const sections = queryOptions({
  queryKey: ["staff", "sections"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/sections", { signal })),
});
export const setSection = (section: string, enabled: boolean) =>
  call(staff.PUT("/api/v1/admin/sections/{section}", { params: { path: { section } }, body: { enabled } }));

export type Setting = Schemas["AdminSetting"];

export const settings = queryOptions({
  queryKey: ["staff", "settings"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/settings", { signal })),
});
