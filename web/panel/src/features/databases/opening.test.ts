import { expect, test } from "vitest";

import { filled, unencrypted } from "./opening";

test.each([
  ["https://node.example/x", "https:", false],
  ["http://node.example/x", "https:", true],
  ["http://node.example/x", "http:", false],
  ["https://node.example/x", "http:", false],
])("%s from a page of %s", (url, protocol, want) => expect(unencrypted(url, protocol)).toBe(want));

test.each([
  [null, 100, null],
  [10, null, null],
  [0, 100, 0],
  [25, 100, 25],
  [250, 100, 100],
  [1, 0, 100],
])("%s of %s", (size, most, want) => expect(filled(size, most)).toBe(want));
