import { expect, test } from "vitest";

import { fieldsOf, follows, wordsIn } from "./article";

test("keywords are what stands between commas", () =>
  expect(wordsIn(" imap,, mail app ,")).toEqual(["imap", "mail app"]));

test("a text in a new language begins empty, with what all languages have in common", () => {
  const text = {
    title: "Mail",
    description: "It.",
    keywords: ["imap", "smtp"],
    author: "",
    updated_at: "",
    draft: false,
    body: "It.",
    url: "",
  };
  const article = { slug: "mail", category: "email", position: 7, published_at: null, texts: { en: text } };
  expect(fieldsOf("kb", "en", article)).toMatchObject({ title: "Mail", keywords: "imap, smtp", position: 7 });
  expect(fieldsOf("kb", "uz", article)).toMatchObject({ title: "", body: "", category: "email", position: 7 });
  expect(fieldsOf("blog", "uz")).toMatchObject({ category: "guides", published_at: "" });
});

test.each([
  ["a new article", 1, undefined, true],
  ["one's own change", 4, 3, true],
  ["a colleague's before it", 5, 3, false],
])("what was written follows what was read: %s", (_, now, read, want) => {
  expect(follows({ version: now }, read === undefined ? undefined : { version: read })).toBe(want);
});
