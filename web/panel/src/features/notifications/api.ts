import { queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";

export type Notification = components["schemas"]["Notification"];

export const notifications = (page: number, unread: boolean) =>
  queryOptions({
    queryKey: ["notifications", page, unread],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/notifications", { params: { query: { page, ...(unread ? { unread: true } : {}) } }, signal }),
      ),
    refetchInterval: 30_000,
  });

export const markRead = (body: components["schemas"]["NotificationsReadBody"]) =>
  call(api.POST("/api/v1/notifications/read", { body }));

export type Preference = components["schemas"]["NotificationsPreference"];

export const preferences = queryOptions({
  queryKey: ["notifications", "preferences"],
  queryFn: ({ signal }) => call(api.GET("/api/v1/notifications/preferences", { signal })),
});

export type Choice = components["schemas"]["NotificationsChoice"];

export const choose = (choice: Choice) =>
  call(api.PUT("/api/v1/notifications/preferences", { body: { preferences: [choice] } }));
