import { expect, test } from "vitest";

import { cents, typed } from "./cents";

test.each([
  ["25", 2500],
  ["25.5", 2550],
  ["25,05", 2505],
  ["$ 0.01", 1],
  ["0", null],
  ["", null],
  ["-5", null],
  ["1.234", null],
  ["1e3", null],
])("%s is %s cents", (text, want) => expect(cents(text)).toBe(want));

test("an amount is typed as it is read", () => expect(cents(typed(1905))).toBe(1905));
