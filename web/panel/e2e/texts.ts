import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const languages = ["en", "ru", "uz"] as const;
export type Lang = (typeof languages)[number];

/** A text of the panel by its folder and key, such as "dns.add". */
export type Reader = (key: string, values?: Record<string, string | number>) => string;

/** A text like this one, with anything in the place of each §. */
export const like = (text: string) =>
  new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("§", ".+")}$`);

/** The texts of the panel in a language. */
export function reader(lang: Lang): Reader {
  const folders = ["src", "src/app", "src/features", "src/ui"].flatMap((above) =>
    readdirSync(above, { withFileTypes: true })
      .filter((one) => one.isDirectory())
      .map((one) => join(above, one.name)),
  );
  const texts: Record<string, string | Record<string, string>> = {};
  for (const folder of folders) {
    let content: string;
    try {
      content = readFileSync(join(folder, `texts.${lang}.json`), "utf8");
    } catch {
      continue; // it has none
    }
    for (const [key, text] of Object.entries(JSON.parse(content) as typeof texts)) {
      texts[`${folder.split("/").at(-1)}.${key}`] = text;
    }
  }
  const plural = new Intl.PluralRules(lang);
  return (key, values = {}) => {
    const text = texts[key];
    if (text === undefined) throw new Error(`the panel has no text ${key}`);
    const form = typeof text === "string" ? text : (text[plural.select(Number(values.count))] ?? text.other ?? "");
    return form.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
  };
}
