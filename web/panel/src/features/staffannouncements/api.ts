import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import { staff, type Schemas } from "~/api/staff";

export type Announcement = Schemas["Announcement"];
export type Full = Schemas["AnnouncementsFull"];
export type Wish = Schemas["AnnouncementsWish"];
export type AudienceKind = Wish["audience"];

export const audiences: AudienceKind[] = ["all", "node", "plan", "resellers"];

/** Whether notifications are on their way. */
export const isTelling = (one: Pick<Announcement, "notify" | "state" | "finished_at">) =>
  one.notify && one.state === "shown" && !one.finished_at;

export const announcements = (query: { page?: number }) =>
  queryOptions({
    queryKey: ["staff", "announcements", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/announcements", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.data.some(isTelling) ? 2000 : false),
  });

const of = (id: number) => ({ params: { path: { announcement: id } } });

export const announcement = (id: number) =>
  queryOptions({
    queryKey: ["staff", "announcement", id],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/announcements/{announcement}", { ...of(id), signal })),
    refetchInterval: ({ state }) => (state.data && isTelling(state.data) ? 1000 : false),
  });

/** Writes an announcement, or only checks it and counts whom it concerns: a new one where there is no id. */
export const writeAnnouncement = (
  wish: Wish,
  { id, version, dryRun }: { id?: number; version?: number; dryRun: boolean },
) => {
  const query = { dry_run: dryRun };
  if (id === undefined || version === undefined)
    return call(staff.POST("/api/v1/admin/announcements", { params: { query }, body: wish }));
  return call(
    staff.PUT("/api/v1/admin/announcements/{announcement}", {
      params: { query, path: { announcement: id } },
      body: { ...wish, version },
    }),
  );
};
export const publishAnnouncement = (id: number, version: number) =>
  call(staff.POST("/api/v1/admin/announcements/{announcement}/publish", { ...of(id), body: { version } }));
export const withdrawAnnouncement = (id: number) =>
  call(staff.POST("/api/v1/admin/announcements/{announcement}/withdraw", of(id)));
export const removeAnnouncement = (id: number) =>
  call(staff.DELETE("/api/v1/admin/announcements/{announcement}", of(id)));

/** Names of machines and slugs of plans, to choose an audience by. */
export const machines = queryOptions({
  queryKey: ["staff", "announcements", "machines"],
  queryFn: async ({ signal }) => {
    const { data } = await call(staff.GET("/api/v1/admin/nodes", { signal }));
    return data.map((node) => node.name);
  },
});
export const plans = queryOptions({
  queryKey: ["staff", "announcements", "plans"],
  queryFn: async ({ signal }) => {
    const { data } = await allPages((page) => call(api.GET("/api/v1/catalog", { params: { query: page }, signal })));
    return data.flatMap((product) => product.plans.map((plan) => plan.slug));
  },
});
