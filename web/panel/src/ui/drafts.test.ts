import { expect, test } from "vitest";

import { drafts } from "./drafts";

test("a draft is kept until it is sent", () => {
  drafts.keep("answer/7/", { message: "Hello" });
  expect(drafts.get("answer/7/")).toEqual({ message: "Hello" });
  expect(drafts.under("answer/7/")).toEqual(["answer/7/"]);
  expect(drafts.under("answer/77/")).toEqual([]);
  drafts.keep("answer/7/", null);
  expect(drafts.get("answer/7/")).toBeUndefined();
});

test("drafts of a new article become those of the article", () => {
  drafts.keep("article/new kb/uz", { body: "Salom", version: 0 });
  drafts.keep("article/new blog/uz", { body: "Boshqa", version: 0 });
  drafts.move<{ version: number }>("article/new kb/", "article/5/", (draft) => ({ ...draft, version: 1 }));
  expect(drafts.under("article/5/")).toEqual(["article/5/uz"]);
  expect(drafts.get("article/5/uz")).toEqual({ body: "Salom", version: 1 });
  expect(drafts.under("article/new ")).toEqual(["article/new blog/uz"]);
  drafts.move<{ version: number }>("article/5/", "article/5/", (draft) => ({ ...draft, version: 2 }));
  expect(drafts.get("article/5/uz")).toEqual({ body: "Salom", version: 2 });
});
