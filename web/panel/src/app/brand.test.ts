import { expect, test } from "vitest";

import { luminance, shades } from "./brand";

test.each(["#0f7a50", "#ffffff", "#000000", "#ffe600", "#0f5fa8", "#ff69b4"])(
  "white text on a button of %s is readable",
  (color) => {
    const all = shades(color);
    expect(all).toHaveLength(10);
    expect(1.05 / (luminance(all[7]) + 0.05)).toBeGreaterThanOrEqual(4.5);
    for (const shade of all) expect(shade).toMatch(/^#[0-9a-f]{6}$/);
  },
);

test("a colour that is dark enough stays as it is", () => {
  expect(shades("#0f5fa8")[7]).toBe("#0f5fa8");
});
