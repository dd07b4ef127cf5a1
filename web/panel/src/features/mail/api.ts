import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import { pace } from "~/api/live";
import { allPages } from "~/api/pages";
import type { components } from "~/api/schema";

export type Mailbox = components["schemas"]["Mailbox"];
type NewMailbox = components["schemas"]["MailCreateBody"];
type MailboxChange = components["schemas"]["MailUpdateBody"];

const changing = (box: Mailbox) => box.status === "pending" || box.status === "removing";

export const mailboxes = (service: number, page: number) =>
  queryOptions({
    queryKey: ["service", service, "mailboxes", page],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/services/{service}/mailboxes", {
          params: { path: { service }, query: { page, per_page: 50 } },
          signal,
        }),
      ),
    refetchInterval: (query) => (query.state.data?.data.some(changing) ? pace(5000) : false),
  });

/** The domains that can have mailboxes. */
export const mailDomains = (service: number) =>
  queryOptions({
    queryKey: ["service", service, "domains", "mail"],
    queryFn: async ({ signal }) =>
      (
        await allPages((page) =>
          call(
            api.GET("/api/v1/services/{service}/domains", {
              params: { path: { service }, query: page },
              signal,
            }),
          ),
        )
      ).data.filter((domain) => domain.status === "active" || domain.status === "pending"),
  });

export const createMailbox = (service: number, body: NewMailbox) =>
  call(api.POST("/api/v1/services/{service}/mailboxes", { params: { path: { service } }, body }));

export const updateMailbox = (service: number, mailbox: number, body: MailboxChange) =>
  call(api.PATCH("/api/v1/services/{service}/mailboxes/{mailbox}", { params: { path: { service, mailbox } }, body }));

export const deleteMailbox = (service: number, mailbox: number) =>
  call(api.DELETE("/api/v1/services/{service}/mailboxes/{mailbox}", { params: { path: { service, mailbox } } }));
