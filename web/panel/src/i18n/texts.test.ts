import { expect, test } from "vitest";

import first from "./en";
import pages from "./pages.en";
import staff from "./staff.en";

type Table = Record<string, string | Record<string, string>>;

const files = import.meta.glob<Table>("../**/texts.*.json", { eager: true, import: "default" });
const english = Object.keys(files).filter((path) => path.endsWith(".en.json"));
const forms = { en: ["one", "other"], uz: ["one", "other"], ru: ["few", "many", "one", "other"] };

const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort();

test("each file of texts is loaded by one part", () => {
  const loaded = [first, pages, staff].flatMap((part) => Object.keys(part)).sort();
  expect(loaded).toEqual(english.map((path) => path.split("/").at(-2)).sort());
});

test.each(english)("%s is complete in all languages", (path) => {
  const en = files[path] ?? {};
  for (const lang of ["ru", "uz"] as const) {
    const other = files[path.replace(".en.json", `.${lang}.json`)] ?? {};
    expect(Object.keys(other).sort(), lang).toEqual(Object.keys(en).sort());
    for (const [key, text] of Object.entries(en)) {
      const there = other[key];
      expect(typeof there, `${lang} ${key}`).toBe(typeof text);
      if (typeof text === "string") expect(placeholders(String(there)), `${lang} ${key}`).toEqual(placeholders(text));
      else expect(Object.keys(there ?? {}).sort(), `${lang} ${key}`).toEqual(forms[lang]);
    }
  }
});

test.each(Object.keys(files).filter((path) => path.endsWith(".uz.json")))("%s has one form of apostrophe", (path) => {
  expect(JSON.stringify(files[path])).not.toMatch(/['‘’`]/);
});
