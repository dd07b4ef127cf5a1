import { expect, test } from "vitest";

import { base64Of } from "~/ui/base64";

import { shownOf } from "./picture";

test("of a data URL its content is sent", () => {
  expect(base64Of("data:image/png;base64,iVBORw0=")).toBe("iVBORw0=");
});

test("the preview shows what will be live", () => {
  expect(shownOf({ keep: true }, "/brand/logo-1.png")).toBe("/brand/logo-1.png");
  expect(shownOf({ remove: true }, "/brand/logo-1.png")).toBeNull();
  expect(shownOf({ url: "data:," }, null)).toBe("data:,");
});
