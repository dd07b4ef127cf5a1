import { expect, test } from "vitest";

import { fits } from "./files";

const mb = (size: number) => ({ size: size * 1024 * 1024 });

test.each([
  [[], true],
  [[mb(1), mb(2)], true],
  [[mb(1), mb(2.1)], false],
  [Array.from({ length: 6 }, () => ({ size: 1 })), false],
])("%j fits: %s", (files, want) => expect(fits(files)).toBe(want));
