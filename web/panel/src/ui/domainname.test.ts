import { expect, test } from "vitest";

import { cleanDomain } from "./domainname";

test("an address of a page becomes a name", () => {
  expect(cleanDomain(" https://Example.com./a?b ")).toBe("example.com");
});
