import type { Message, Settings, SettingsBody } from "./api";

/** Messages of one run, in their order. */
interface Turn {
  run: number;
  messages: Message[];
}

/** Puts the messages of a conversation together by the run that they belong to. */
export function turns(messages: Message[]): Turn[] {
  const found: Turn[] = [];
  for (const message of messages) {
    const last = found.at(-1);
    if (last?.run === message.run_id) last.messages.push(message);
    else found.push({ run: message.run_id, messages: [message] });
  }
  return found;
}

type LineKind = "added" | "removed" | "place" | "same";

/** The lines of a difference by what they say. */
export const diffLines = (diff: string): { kind: LineKind; text: string }[] =>
  diff
    .replace(/\n$/, "")
    .split("\n")
    .map((text) => ({
      kind: text.startsWith("@@")
        ? "place"
        : text.startsWith("+")
          ? "added"
          : text.startsWith("-")
            ? "removed"
            : "same",
      text,
    }));

/** What the settings' form holds: lists as lines, money in dollars. */
export interface SettingsForm extends Record<string, unknown> {
  enabled: boolean;
  mode: Settings["mode"];
  budget: number | string;
  allowed_paths: string;
  denied_paths: string;
  model: string;
  notify_on_insight: boolean;
  undo_when_broken: boolean;
}

export const formOf = (settings: Settings): SettingsForm => ({
  enabled: settings.enabled,
  mode: settings.mode,
  budget: settings.monthly_budget.usd_cents / 100,
  allowed_paths: settings.allowed_paths.join("\n"),
  denied_paths: settings.denied_paths.join("\n"),
  model: settings.model ?? settings.models[0] ?? "",
  notify_on_insight: settings.notify_on_insight,
  undo_when_broken: settings.undo_when_broken,
});

const lines = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** The settings that a form asks for. What it does not show stays as it was. */
export const bodyOf = (form: SettingsForm, before: Settings): SettingsBody => ({
  enabled: form.enabled,
  mode: form.mode,
  monthly_budget_usd_cents: Math.round(Number(form.budget) * 100),
  allowed_paths: lines(form.allowed_paths),
  denied_paths: lines(form.denied_paths),
  allowed_tools: before.allowed_tools,
  max_steps: before.max_steps,
  language: before.language ?? undefined,
  model: form.model || undefined,
  notify_on_insight: form.notify_on_insight,
  undo_when_broken: form.undo_when_broken,
});
