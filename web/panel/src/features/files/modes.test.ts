import { expect, test } from "vitest";

import { allowed, bit, fileMode, folderMode, modeProblem, octal, parseMode } from "./modes";

test("permissions are read and written in octal", () => {
  expect(["644", "0644", " 755 ", "000"].map(parseMode)).toEqual([0o644, 0o644, 0o755, 0]);
  expect(["", "64", "648", "1755", "rw-r--r--", "00644"].map(parseMode)).toEqual([null, null, null, null, null, null]);
  expect([0o644, 0o44, 0].map(octal)).toEqual(["644", "044", "000"]);
});

test("each right has its bit", () => {
  expect(bit("owner", "read")).toBe(0o400);
  expect(bit("group", "write")).toBe(0o20);
  expect(bit("others", "execute")).toBe(0o1);
});

test("folders can be opened by those who read their files", () => {
  expect([0o644, 0o640, 0o600, 0o664].map(folderMode).map(octal)).toEqual(["755", "750", "700", "775"]);
  expect([0o755, 0o750].map(fileMode).map(octal)).toEqual(["644", "640"]);
});

test("what hosting refuses is told before it is sent", () => {
  expect(modeProblem("640", false)).toBeNull();
  expect(modeProblem("640", true)).toBe("mode.owner");
  expect(modeProblem("244", false)).toBe("mode.owner");
  expect(modeProblem("777", true)).toBe("mode.unsafe");
  expect(modeProblem("4755", true)).toBe("mode.format");
  expect(octal(allowed(0o277, true))).toBe("775");
});
