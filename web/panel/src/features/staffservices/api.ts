import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";
import type { readTarget } from "~/ui/staff/labels";

export type Service = Schemas["AdminService"];
export type Suspension = Schemas["StaffSuspendServiceBody"]["reason"];
export const suspensions: Suspension[] = ["abuse", "resource_limit", "unpaid", "manual"];

const moving = new Set(["pending", "provisioning", "terminating"]);

export const service = (id: number) =>
  queryOptions({
    queryKey: ["staff", "service", id],
    queryFn: ({ signal }) =>
      call(staff.GET("/api/v1/admin/services/{service}", { params: { path: { service: id } }, signal })),
    refetchInterval: (query) => (moving.has(query.state.data?.status ?? "") ? 1000 : false),
  });

const of = (id: number) => ({ path: { service: id } });

export const suspend = (id: number, reason: Suspension, note: string) =>
  call(staff.POST("/api/v1/admin/services/{service}/suspend", { params: of(id), body: { reason, note } }));
export const unsuspend = (id: number, reason: string) =>
  call(staff.POST("/api/v1/admin/services/{service}/unsuspend", { params: of(id), body: { reason } }));
export const terminate = (id: number, reason: string) =>
  call(staff.POST("/api/v1/admin/services/{service}/terminate", { params: of(id), body: { reason } }));
export const restore = (id: number, reason: string) =>
  call(staff.POST("/api/v1/admin/services/{service}/restore", { params: of(id), body: { reason } }));
export const retry = (id: number, reason: string) =>
  call(staff.POST("/api/v1/admin/services/{service}/retry", { params: of(id), body: { reason } }));
export const move = (id: number, target: ReturnType<typeof readTarget>, now: boolean, reason: string) =>
  call(staff.POST("/api/v1/admin/services/{service}/move", { params: of(id), body: { ...target, now, reason } }));

export type RegisteredDomain = Schemas["AdminRegisteredDomain"];

export const domains = (query: {
  page?: number;
  status?: RegisteredDomain["status"];
  q?: string;
  attention?: "domains_waiting";
}) =>
  queryOptions({
    queryKey: ["staff", "domains", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/domains", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export const certificates = (query: { page?: number; attention?: "certificates_failing" }) =>
  queryOptions({
    queryKey: ["staff", "certificates", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/certificates", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
