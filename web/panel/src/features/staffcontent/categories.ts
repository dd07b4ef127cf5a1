import type { ArticleKind } from "./api";

/** The categories of each kind, in the order of the site. */
export const articleCategories = {
  kb: [
    "getting-started",
    "websites",
    "domains",
    "dns",
    "email",
    "files",
    "databases",
    "security",
    "backups",
    "billing",
    "developers",
  ],
  blog: ["guides", "comparison", "tips", "news"],
  glossary: [],
} as const satisfies Record<ArticleKind, readonly string[]>;
