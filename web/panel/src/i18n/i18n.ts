import { useSyncExternalStore } from "react";

import { boot } from "~/app/boot";

export const languages = { uz: "Oʻzbekcha", ru: "Русский", en: "English" } as const;
export type Lang = keyof typeof languages;

/** Texts of one feature: a sentence, or one sentence for each plural form of `count`. */
export type Texts = Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>;

/** Texts by feature, in each language. */
type Tables = Record<Lang, () => Promise<{ default: Record<string, Texts> }>>;

/** What is loaded for a language: the texts of the first load, and those that `addTexts` has added. A chunk of its own for each. */
const parts: Tables[] = [{ uz: () => import("./uz"), ru: () => import("./ru"), en: () => import("./en") }];

let lang: Lang = boot.lang in languages ? boot.lang : "en";
let wanted: Lang = lang;
let table: Record<string, Texts> = {};
let loading: Promise<unknown> = Promise.resolve();
const listeners = new Set<() => void>();

/** The language of the page. */
export const currentLang = () => lang;

/** Loads all parts in the language that is wanted. One load begins when the former has ended, so the last one decides. */
function load(): Promise<void> {
  const next = loading.then(async () => {
    const chosen = wanted;
    const loaded = await Promise.all(parts.map((part) => part[chosen]()));
    table = Object.assign({}, ...loaded.map((part) => part.default)) as typeof table;
    lang = chosen;
  });
  loading = next.catch(() => undefined);
  return next;
}

/** Loads a language and draws the page in it. */
export async function setLanguage(next: Lang) {
  wanted = next;
  try {
    await load();
  } catch (error) {
    wanted = lang;
    throw error;
  }
  document.documentElement.lang = lang;
  listeners.forEach((listener) => listener());
}

/** Adds texts to those of the first load, in the language of the page. */
export async function addTexts(part: Tables) {
  parts.push(part);
  try {
    await load();
  } catch (error) {
    parts.splice(parts.indexOf(part), 1);
    throw error;
  }
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Draws the component again when the language changes, and returns it. */
export const useLang = (): Lang => useSyncExternalStore(subscribe, currentLang);

type Values = Record<string, string | number>;

const fill = (text: string, values: Values) =>
  text.replace(/\{(\w+)\}/g, (whole, name: string) => (name in values ? String(values[name]) : whole));

/**
 * The texts of a feature, typed by its English file. `{name}` is replaced by the value; where the file has plural forms,
 * `count` chooses one.
 */
export const translator =
  <T extends Texts>(feature: string) =>
  (key: keyof T & string, values: Values = {}): string => {
    const text = table[feature]?.[key];
    if (text === undefined) return key;
    if (typeof text === "string") return fill(text, values);
    const form = new Intl.PluralRules(lang).select(Number(values.count));
    return fill(text[form] ?? text.other ?? key, values);
  };
