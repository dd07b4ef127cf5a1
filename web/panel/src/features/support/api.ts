import { queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import type { components } from "~/api/schema";

type Thread = components["schemas"]["TicketsThread"];
export type Message = Thread["messages"][number];
export type State = Thread["status"];

export const states = ["open", "waiting", "answered", "closed"] as const satisfies readonly State[];

export interface Filter {
  page?: number;
  status?: State;
  /** Only those about this service. */
  service?: number;
}

export const tickets = ({ page = 1, status, service }: Filter) =>
  queryOptions({
    queryKey: ["tickets", page, status, service],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/tickets", { params: { query: { page, status, service_id: service } }, signal })),
  });

/** A ticket with what was written in it. An answer may come while it is open. */
export const ticket = (id: number) =>
  queryOptions({
    queryKey: ["ticket", id],
    queryFn: ({ signal }) => call(api.GET("/api/v1/tickets/{ticket}", { params: { path: { ticket: id } }, signal })),
    refetchInterval: 15_000,
  });

export const closeTicket = (id: number) =>
  call(api.POST("/api/v1/tickets/{ticket}/close", { params: { path: { ticket: id } } }));

export const reopenTicket = (id: number) =>
  call(api.POST("/api/v1/tickets/{ticket}/reopen", { params: { path: { ticket: id } } }));

export const attachment = (id: number, file: number) => addressOf(`/api/v1/tickets/${id}/attachments/${file}`);
