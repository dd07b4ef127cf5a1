import { queryOptions } from "@tanstack/react-query";

import { addressOf, api, call } from "~/api/client";
import { postWithProgress } from "~/api/progress";
import type { components } from "~/api/schema";

import { encode } from "./files";

export type Ticket = components["schemas"]["Ticket"];

/** The services that a ticket may be about, found by a part of their names. */
export const servicesLike = (q: string) =>
  queryOptions({
    queryKey: ["services", "like", q],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services", { params: { query: { per_page: 50, q: q || undefined } }, signal })),
  });

export const serviceOf = (service: number) =>
  queryOptions({
    queryKey: ["service", service],
    queryFn: ({ signal }) => call(api.GET("/api/v1/services/{service}", { params: { path: { service } }, signal })),
  });

type Sent = (share: number) => void;

async function post(path: string, body: Record<string, unknown>, files: readonly File[], sent: Sent) {
  const attachments = await Promise.all(files.map(encode));
  const text = JSON.stringify(attachments.length > 0 ? { ...body, attachments } : body);
  const total = new Blob([text]).size;
  return postWithProgress(addressOf(path), text, (bytes) => sent(Math.min(1, bytes / total)));
}

export const createTicket = (
  body: { subject: string; message: string; service_id?: number },
  files: readonly File[],
  sent: Sent,
) => post("/api/v1/tickets", body, files, sent) as Promise<Ticket>;

export const writeMessage = (ticket: number, message: string, files: readonly File[], sent: Sent) =>
  post(`/api/v1/tickets/${ticket}/messages`, { message }, files, sent);
