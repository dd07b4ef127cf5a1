import type { Article, ArticleKind } from "./api";
import { articleCategories } from "./categories";

/** An article's text in one language as it stands in the form. */
export type ArticleFields = {
  slug: string;
  title: string;
  description: string;
  category: string;
  position: number | string;
  author: string;
  published_at: string;
  keywords: string;
  body: string;
};

/** What stands in the form at first: the text in the language, and what all languages have in common. */
export function fieldsOf(
  kind: ArticleKind,
  language: string,
  article?: Pick<Article, "slug" | "category" | "position" | "published_at" | "texts">,
): ArticleFields {
  const text = article?.texts[language];
  return {
    slug: article?.slug ?? "",
    title: text?.title ?? "",
    description: text?.description ?? "",
    category: article?.category || articleCategories[kind][0] || "",
    position: article?.position ?? 100,
    author: text?.author ?? "",
    published_at: article?.published_at?.slice(0, 10) ?? "",
    keywords: text?.keywords.join(", ") ?? "",
    body: text?.body ?? "",
  };
}

/**
 * Whether what was written follows what was read, with nobody's change between them. What comes later may have another text in any
 * language: whoever goes on from it would write over what they have never seen.
 */
export const follows = (now: Pick<Article, "version">, read?: Pick<Article, "version">) =>
  now.version === (read?.version ?? 0) + 1;

/** The words between commas. */
export const wordsIn = (text: string) =>
  text
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
