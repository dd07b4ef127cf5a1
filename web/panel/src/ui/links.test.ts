import { expect, test } from "vitest";

import { parts } from "./links";

const draw = (text: string) =>
  parts(text)
    .map((part) => (part.link ? `[${part.text}]` : part.text))
    .join("");

test.each([
  ["no address", "no address"],
  ["", ""],
  ["Look at https://a.example/kb/mail.", "Look at [https://a.example/kb/mail]."],
  ["(see https://a.example/x)", "(see [https://a.example/x])"],
  ["https://a.example/x_(y)", "[https://a.example/x_(y)]"],
  ["(https://a.example/x).", "([https://a.example/x])."],
  ["«https://a.example/?q=1&b=2», https://b.example", "«[https://a.example/?q=1&b=2]», [https://b.example]"],
  ["javascript:alert(1)", "javascript:alert(1)"],
])("the addresses of %j", (text, drawn) => {
  expect(draw(text)).toBe(drawn);
  expect(
    parts(text)
      .map((part) => part.text)
      .join(""),
  ).toBe(text);
});
