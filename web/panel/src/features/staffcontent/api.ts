import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { addressOf, call } from "~/api/client";
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

export type Article = Schemas["AdminArticle"];
export type ArticleText = Schemas["AdminArticleText"];
export type ArticleKind = Article["kind"];
export type ArticleDraft = Schemas["StaffNewArticleBody"];

export const articleKinds: ArticleKind[] = ["kb", "blog", "glossary"];

export const articles = (query: { page?: number; kind?: ArticleKind; drafts?: boolean; q?: string }) =>
  queryOptions({
    queryKey: ["staff", "articles", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/articles", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });
export const article = (id: number) =>
  queryOptions({
    queryKey: ["staff", "article", id],
    queryFn: ({ signal }) =>
      call(staff.GET("/api/v1/admin/articles/{article}", { params: { path: { article: id } }, signal })),
  });

/** Writes a text, or only shows what readers would get: a new article where there is no id. */
export const writeArticle = (
  { kind, slug, language, ...text }: ArticleDraft,
  { id, version, dryRun }: { id?: number; version?: number; dryRun: boolean },
) => {
  const query = { dry_run: dryRun };
  if (id === undefined || version === undefined)
    return call(staff.POST("/api/v1/admin/articles", { params: { query }, body: { kind, slug, language, ...text } }));
  return call(
    staff.PUT("/api/v1/admin/articles/{article}/{language}", {
      params: { query, path: { article: id, language } },
      body: { ...text, version },
    }),
  );
};
export const publishArticle = (id: number, language: ArticleDraft["language"], version: number) =>
  call(
    staff.POST("/api/v1/admin/articles/{article}/{language}/publish", {
      params: { path: { article: id, language } },
      body: { version },
    }),
  );
export const withdrawArticle = (id: number, language: ArticleDraft["language"]) =>
  call(
    staff.POST("/api/v1/admin/articles/{article}/{language}/withdraw", {
      params: { path: { article: id, language } },
    }),
  );
export type Picture = Schemas["AdminArticlePicture"];

export const pictures = queryOptions({
  queryKey: ["staff", "articlePictures"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/article-pictures", { signal })),
});
/** Keeps a picture that texts can show. */
export const addPicture = (body: Schemas["StaffAddPictureBody"]) =>
  call(staff.POST("/api/v1/admin/article-pictures", { body }));
export const removePicture = (picture: string) =>
  call(staff.DELETE("/api/v1/admin/article-pictures/{picture}", { params: { path: { picture } } }));
export const removeArticle = (id: number, language: ArticleDraft["language"]) =>
  call(staff.DELETE("/api/v1/admin/articles/{article}/{language}", { params: { path: { article: id, language } } }));

export type Template = Schemas["AdminTemplate"];

export const templates = queryOptions({
  queryKey: ["staff", "templates"],
  queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/templates", { signal })),
});
/** Shows a template to customers, or hides it from them. */
export const offerTemplate = (template: number, offered: boolean) =>
  call(staff.PUT("/api/v1/admin/templates/{template}", { params: { path: { template } }, body: { offered } }));
/** Where staff see a template's page and its picture, also of one that is hidden. */
export const templatePreview = (id: number, lang: string) =>
  addressOf(`/api/v1/admin/templates/${id}/preview`, { lang });
export const templateThumbnail = (id: number) => addressOf(`/api/v1/admin/templates/${id}/thumbnail`);
