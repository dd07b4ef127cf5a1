import { expect, test } from "vitest";

import type { Message, Settings } from "./api";
import { bodyOf, diffLines, formOf, turns } from "./validate";

test("messages stand together by their run", () => {
  const message = (id: number, run_id: number) => ({ id, run_id }) as Message;
  const found = turns([message(1, 5), message(2, 5), message(3, 6)]);
  expect(found.map(({ run, messages }) => [run, messages.map(({ id }) => id)])).toEqual([
    [5, [1, 2]],
    [6, [3]],
  ]);
});

test("lines of a difference", () => {
  expect(diffLines("@@ -1 +1 @@\n-9-18\n+9-19\n same\n").map(({ kind }) => kind)).toEqual([
    "place",
    "removed",
    "added",
    "same",
  ]);
});

test("the form of the settings keeps what it does not show", () => {
  const money = { usd_cents: 500, amount: 500, currency: "USD", display: "$5.00" };
  const before = {
    enabled: false,
    mode: "ask_before_write",
    allowed_tools: ["read_file"],
    tools: [],
    allowed_paths: ["/public_html"],
    denied_paths: [],
    max_steps: 12,
    monthly_budget: money,
    spent_this_month: money,
    model: null,
    models: ["small"],
    language: null,
    notify_on_insight: false,
    undo_when_broken: true,
  } as unknown as Settings;
  const form = { ...formOf(before), enabled: true, budget: 7.5, denied_paths: "/public_html/private\n\n" };
  expect(bodyOf(form, before)).toEqual({
    enabled: true,
    mode: "ask_before_write",
    monthly_budget_usd_cents: 750,
    allowed_paths: ["/public_html"],
    denied_paths: ["/public_html/private"],
    allowed_tools: ["read_file"],
    max_steps: 12,
    language: undefined,
    model: "small",
    notify_on_insight: false,
    undo_when_broken: true,
  });
});
