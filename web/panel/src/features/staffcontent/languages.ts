import { languages } from "~/i18n/i18n";
import type { ActField } from "~/ui/staff/Act";

/** A field for a text in each language; the first language of the site must be there. */
export const inEach = (name: string, label: string, type: ActField["type"] = "text"): ActField[] =>
  Object.entries(languages).map(([lang, language]) => ({
    name: `${name}.${lang}`,
    label: `${label} (${language})`,
    type,
  }));

/** The texts that stand in such fields, by language. */
export const textsOf = (name: string, fields: Record<string, string>) =>
  Object.fromEntries(
    Object.keys(languages).flatMap((lang) => {
      const text = (fields[`${name}.${lang}`] ?? "").trim();
      return text ? [[lang, text]] : [];
    }),
  );
