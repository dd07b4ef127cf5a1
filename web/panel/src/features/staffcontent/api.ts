import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";

export type Review = Schemas["AdminReview"];
export type Month = Schemas["AdminSLAMonth"];
export type Stage = Schemas["StaffIncidentBody"]["status"];
export type Impact = Schemas["StaffNewIncidentBody"]["impact"];

export const reviewStatuses = ["pending", "approved", "rejected"] as const;
export const monthStatuses = ["proposed", "credited", "rejected", "none"] as const;
export const stages: Stage[] = ["investigating", "identified", "monitoring", "resolved"];
export const impacts: Impact[] = ["minor", "major", "critical", "none"];

export const reviews = (query: { page?: number; status: (typeof reviewStatuses)[number] }) =>
  queryOptions({
    queryKey: ["staff", "reviews", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/reviews", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
export const decideReview = (review: number, body: Schemas["StaffReviewBody"]) =>
  call(staff.POST("/api/v1/admin/reviews/{review}/decide", { params: { path: { review } }, body }));

export const months = (query: { page?: number; status: (typeof monthStatuses)[number] }) =>
  queryOptions({
    queryKey: ["staff", "sla", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/sla", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
export const decideMonth = (month: number, body: Schemas["StaffMonthBody"]) =>
  call(staff.POST("/api/v1/admin/sla/{month}/decide", { params: { path: { month } }, body }));

export const incidents = queryOptions({
  queryKey: ["staff", "incidents"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/incidents", { signal })),
});
export const openIncident = (body: Schemas["StaffNewIncidentBody"]) =>
  call(staff.POST("/api/v1/admin/incidents", { body }));
export const updateIncident = (incident: number, body: Schemas["StaffIncidentBody"]) =>
  call(staff.POST("/api/v1/admin/incidents/{incident}/updates", { params: { path: { incident } }, body }));

export const maintenance = queryOptions({
  queryKey: ["staff", "maintenance"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/maintenance", { signal })),
});
export const schedule = (body: Schemas["StaffNewMaintenanceBody"]) =>
  call(staff.POST("/api/v1/admin/maintenance", { body }));
export const cancelMaintenance = (id: number) =>
  call(staff.POST("/api/v1/admin/maintenance/{maintenance}/cancel", { params: { path: { maintenance: id } } }));
