import { expect, test } from "vitest";

import { inserted, pictureMark, pictureName } from "./pictures";

test.each([
  ["Screen Shot 2026-11-27.PNG", "screen-shot-2026-11-27.png"],
  ["Почта.jpg", "picture.jpg"],
  ["Café — menu.webp", "cafe-menu.webp"],
  ["--a--.gif", "a.gif"],
  [".png", "png"],
])("%s is kept as %s", (file, want) => expect(pictureName(file)).toBe(want));

test("what is shown is said, and cannot end the mark", () =>
  expect(pictureMark(" A [list]\nof sites ", "/media/a.png")).toBe("![A \\[list\\] of sites](/media/a.png)"));

test("a picture is a paragraph of its own", () => {
  expect(inserted("", 0, "P")).toBe("P\n");
  expect(inserted("One.\n\nTwo.\n", 5, "P")).toBe("One.\n\nP\n\nTwo.\n");
  expect(inserted("One.", 4, "P")).toBe("One.\n\nP\n");
});
