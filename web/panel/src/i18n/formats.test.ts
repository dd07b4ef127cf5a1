import { afterEach, expect, test, vi } from "vitest";

import { date } from "./formats";

vi.mock("./i18n", () => ({ currentLang: () => "en" }));

const zone = process.env.TZ;
afterEach(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test.each(["Pacific/Auckland", "UTC", "Pacific/Honolulu"])("a day of the calendar is the same in %s", (there) => {
  process.env.TZ = there;
  expect(date("2026-11-27")).toBe("Nov 27, 2026");
});
