import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { allPages } from "~/api/pages";
import { follow } from "~/api/events";
import type { components } from "~/api/schema";

export type Settings = components["schemas"]["RunsSettings"];
export type SettingsBody = components["schemas"]["RunsSettingsBody"];
export type Run = components["schemas"]["Run"];
type Story = components["schemas"]["RunsStory"];
export type Message = Story["messages"][number];
export type FileChange = Message["file_changes"][number];
export type Approval = components["schemas"]["RunsApproval"];
export type Insight = components["schemas"]["Insight"];
export type InsightStatus = Insight["status"];

const over = new Set<Run["status"]>(["completed", "failed", "cancelled"]);
export const isOver = (run: Run) => over.has(run.status);

const key = (service: number, ...rest: unknown[]) => ["service", service, "agent", ...rest];
const at = (service: number) => ({ params: { path: { service } } });

export const settings = () =>
  queryOptions({
    queryKey: ["ai", "settings"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/ai/settings", { signal })),
  });

export const saveSettings = (body: SettingsBody) => call(api.PUT("/api/v1/ai/settings", { body }));

export const conversations = (service: number) =>
  queryOptions({
    queryKey: key(service, "conversations"),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/ai/conversations", {
            params: { path: { service }, query: page },
            signal,
          }),
        ),
      ),
  });

/** A conversation. While a run of it is on its way, its events refresh it; should they be lost, it is read again. */
export const conversation = (service: number, id: number) =>
  queryOptions({
    queryKey: key(service, "conversation", id),
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/ai/conversations/{conversation}", {
          params: { path: { service, conversation: id } },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.status === "running" ? 5000 : false),
  });

export const run = (service: number, id: number) =>
  queryOptions({
    queryKey: key(service, "run", id),
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services/{service}/ai/runs/{run}", { params: { path: { service, run: id } }, signal })),
    refetchInterval: (query) => (query.state.data && !isOver(query.state.data) ? 2000 : false),
  });

export const pending = (service: number) =>
  queryOptions({
    queryKey: key(service, "approvals"),
    queryFn: ({ signal }) =>
      allPages((page) =>
        call(
          api.GET("/api/v1/services/{service}/ai/approvals", {
            params: { path: { service }, query: { status: "pending", ...page } },
            signal,
          }),
        ),
      ),
  });

/** Gives the agent a task, and answers with the events of its run. */
export const startRun = (service: number, message: string, conversationId: number | null, signal: AbortSignal) =>
  follow(`/api/v1/services/${service}/ai/run`, {}, signal, {
    body: { message, ...(conversationId === null ? {} : { conversation_id: conversationId }) },
  });

export const runEvents = (service: number, id: number, signal: AbortSignal) =>
  follow(`/api/v1/services/${service}/ai/runs/${id}/events`, {}, signal);

export const cancelRun = (service: number, id: number) =>
  call(api.POST("/api/v1/services/{service}/ai/runs/{run}/cancel", { params: { path: { service, run: id } } }));

export const undoRun = (service: number, id: number, partial: boolean) =>
  call(
    api.POST("/api/v1/services/{service}/ai/runs/{run}/undo", {
      params: { path: { service, run: id } },
      body: { partial },
    }),
  );

export const undoChange = (service: number, change: number) =>
  call(api.POST("/api/v1/services/{service}/ai/changes/{change}/undo", { params: { path: { service, change } } }));

/** What a person answers the agent; `rest` approves what else the run changes too. */
export interface Decision {
  approve: boolean;
  rest?: boolean;
}

export const decide = (service: number, approval: number, decision: Decision, reason: string) =>
  call(
    api.POST("/api/v1/services/{service}/ai/approvals/{approval}/decide", {
      params: { path: { service, approval } },
      body: { ...decision, reason: reason || undefined },
    }),
  );

export const deleteConversation = (service: number, id: number) =>
  call(
    api.DELETE("/api/v1/services/{service}/ai/conversations/{conversation}", {
      params: { path: { service, conversation: id } },
    }),
  );

export const insights = (service: number, status: InsightStatus, page: number) =>
  queryOptions({
    queryKey: key(service, "insights", status, page),
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/ai/insights", {
          params: { path: { service }, query: { status, page } },
          signal,
        }),
      ),
  });

export const audit = (service: number) => call(api.POST("/api/v1/services/{service}/ai/audit", at(service)));

export const dismiss = (service: number, insight: number, reason: string) =>
  call(
    api.POST("/api/v1/services/{service}/ai/insights/{insight}/dismiss", {
      params: { path: { service, insight } },
      body: { reason: reason || undefined },
    }),
  );
