import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

import type { Range } from "./ranges";

export type Monitor = components["schemas"]["Monitor"];
export type MonitorStory = components["schemas"]["MonitorsHistory"];
export type Outage = components["schemas"]["MonitorsOutage"];
type NewMonitor = components["schemas"]["MonitorsCreateBody"];
export type Settings = components["schemas"]["MonitorsSettingsIn"];
export type Channel = components["schemas"]["MonitorsChannel"];
export type NewChannel = components["schemas"]["MonitorsAddChannelBody"];
type ChannelSettings = components["schemas"]["MonitorsChannelSettings"];

/** A first check is on its way. A heartbeat waits for its job, which may take a day. */
const expected = (monitor: Monitor | MonitorStory) => monitor.status === "pending" && monitor.type !== "heartbeat";

export const monitors = (page: number) =>
  queryOptions({
    queryKey: ["monitors", "list", page],
    queryFn: ({ signal }) => call(api.GET("/api/v1/monitors", { params: { query: { page } }, signal })),
    refetchInterval: (query) => (query.state.data?.data.some(expected) ? 1000 : 20_000),
  });

export const monitor = (id: number, range: Range) =>
  queryOptions({
    queryKey: ["monitors", id, range],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/monitors/{monitor}", { params: { path: { monitor: id }, query: { range } }, signal })),
    refetchInterval: (query) => (query.state.data && expected(query.state.data) ? 1000 : 20_000),
  });

export const createMonitor = (body: NewMonitor) => call(api.POST("/api/v1/monitors", { body }));

export const updateMonitor = (id: number, body: Settings) =>
  call(api.PATCH("/api/v1/monitors/{monitor}", { params: { path: { monitor: id } }, body }));

export const deleteMonitor = (id: number) =>
  call(api.DELETE("/api/v1/monitors/{monitor}", { params: { path: { monitor: id } } }));

export const channels = queryOptions({
  queryKey: ["monitors", "channels"],
  queryFn: ({ signal }) =>
    allPages((page) => call(api.GET("/api/v1/alert-channels", { params: { query: page }, signal }))),
});

const at = (id: number) => ({ params: { path: { alert_channel: id } } });

export const createChannel = (body: NewChannel) => call(api.POST("/api/v1/alert-channels", { body }));

export const updateChannel = (id: number, body: ChannelSettings) =>
  call(api.PATCH("/api/v1/alert-channels/{alert_channel}", { ...at(id), body }));

export const deleteChannel = (id: number) => call(api.DELETE("/api/v1/alert-channels/{alert_channel}", at(id)));

export const verifyChannel = (id: number, code: string) =>
  call(api.POST("/api/v1/alert-channels/{alert_channel}/verify", { ...at(id), body: { code } }));

/** Sends a test, or the code again to a channel that is not verified. */
export const testChannel = (id: number) => call(api.POST("/api/v1/alert-channels/{alert_channel}/test", at(id)));
