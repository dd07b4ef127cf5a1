import { expect, test } from "vitest";

import { sent, shownOf } from "./picture";

test("the preview shows what will be live", () => {
  expect(shownOf({ keep: true }, "/brand/logo-1.png")).toBe("/brand/logo-1.png");
  expect(shownOf({ remove: true }, "/brand/logo-1.png")).toBeNull();
  expect(shownOf({ url: "data:," }, null)).toBe("data:,");
});

test("a picture that stays is not sent, and one that goes is empty", () => {
  expect(sent({ logo: { keep: true }, icon: { remove: true } })).toEqual({ icon: "" });
  expect(sent({ logo: { url: "data:image/png;base64,iVBORw0=" }, icon: { keep: true } })).toEqual({ logo: "iVBORw0=" });
});
