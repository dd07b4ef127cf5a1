import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, call } from "~/api/client";
import type { components } from "~/api/schema";
import { currentLang } from "~/i18n/i18n";

export type Message = components["schemas"]["AssistantMessage"];

export const articles = (q: string) =>
  queryOptions({
    queryKey: ["articles", q, currentLang()],
    queryFn: ({ signal }) =>
      call(
        api.GET("/api/v1/kb", { params: { query: { q: q || undefined, lang: currentLang(), per_page: 5 } }, signal }),
      ),
    placeholderData: keepPreviousData,
    staleTime: 300_000,
  });

export const servicesLike = (q: string) =>
  queryOptions({
    queryKey: ["services", "found", q],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/services", { params: { query: { q: q || undefined, per_page: 5 } }, signal })),
    placeholderData: keepPreviousData,
  });

export const domainsLike = (q: string) =>
  queryOptions({
    queryKey: ["domains", "found", q],
    queryFn: ({ signal }) =>
      call(api.GET("/api/v1/domains", { params: { query: { q: q || undefined, per_page: 5 } }, signal })),
    placeholderData: keepPreviousData,
  });

export const conversation = () =>
  queryOptions({
    queryKey: ["assistant"],
    queryFn: ({ signal }) => call(api.GET("/api/v1/assistant", { signal })),
  });

export const ask = (message: string) => call(api.POST("/api/v1/assistant", { body: { message } }));

/** The conversation as a ticket that nobody has opened yet. */
export const handover = () => call(api.GET("/api/v1/assistant/handover"));

export const articleAddress = (slug: string) => `/kb/${encodeURIComponent(slug)}?lang=${currentLang()}`;
