import { EditorState } from "@codemirror/state";
import { expect, test } from "vitest";

import { keepMixed, separatorOf, textOf } from "./lines";

test.each([
  ["LF", "a\nb\n", "x\na\nb\n"],
  ["CRLF", "a\r\nb\r\n", "x\r\na\r\nb\r\n"],
  ["CR", "a\rb\r", "x\ra\rb\r"],
  ["both", "a\r\nb\n", "x\na\r\nb\n"],
  ["nothing", "a", "x\na"],
])("a text whose lines end with %s keeps them", (_, text, withLine) => {
  const separator = separatorOf(text);
  const opened = EditorState.create({ doc: text, extensions: keepMixed(text) });
  expect(textOf(opened, separator)).toBe(text);
  const changed = opened.update({ changes: { from: 0, insert: "x\n" } }).state;
  expect(textOf(changed, separator)).toBe(withLine);
  const undone = changed.update({ changes: { from: 0, to: 2 } }).state;
  expect(textOf(undone, separator)).toBe(text);
});
