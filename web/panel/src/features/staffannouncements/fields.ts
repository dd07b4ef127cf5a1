import type { Lang } from "~/i18n/i18n";
import { localTime } from "~/i18n/localtime";

import type { AudienceKind, Wish } from "./api";

/** An announcement as it stands in the form. */
export type Fields = {
  title: Record<Lang, string>;
  body: Record<Lang, string>;
  link: string;
  level: Wish["level"];
  audience: AudienceKind;
  audience_of: string;
  /** Of a field for a local time; empty: none. */
  starts_at: string;
  ends_at: string;
  notify: boolean;
  mail: boolean;
};

/** The time of a field for a local time. One that still says what was read is what was read, to the second. */
export const timeOf = (local: string, read: string | null = null) => {
  if (local === "") return null;
  return local === localTime(read) ? read : new Date(local).toISOString();
};

const texts = (by: { en?: string; ru?: string; uz?: string } = {}) => ({
  en: by.en ?? "",
  ru: by.ru ?? "",
  uz: by.uz ?? "",
});

/** What stands in the form at first. */
export const fieldsOf = (wish?: Wish): Fields => ({
  title: texts(wish?.title),
  body: texts(wish?.body),
  link: wish?.link ?? "",
  level: wish?.level ?? "info",
  audience: wish?.audience ?? "all",
  audience_of: wish?.audience_of ?? "",
  starts_at: localTime(wish?.starts_at),
  ends_at: localTime(wish?.ends_at),
  notify: wish?.notify ?? false,
  mail: wish?.mail ?? false,
});

/** What the form says; `read` is what it was made of. */
export const wishOf = (fields: Fields, read?: Wish): Wish => ({
  ...fields,
  link: fields.link.trim(),
  audience_of: fields.audience === "node" || fields.audience === "plan" ? fields.audience_of.trim() : "",
  starts_at: timeOf(fields.starts_at, read?.starts_at),
  ends_at: timeOf(fields.ends_at, read?.ends_at),
  mail: fields.notify && fields.mail,
});

/** The languages in which there is something to read. */
export const written = (fields: Pick<Fields, "title" | "body">) =>
  (["en", "ru", "uz"] as const).filter((lang) => fields.title[lang].trim() !== "" || fields.body[lang].trim() !== "");
