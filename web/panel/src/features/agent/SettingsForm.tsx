import { Alert, Button, Group, NumberInput, Radio, Select, Stack, Switch, Text, Textarea } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";

import { money } from "~/i18n/formats";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { done } from "~/ui/notice";

import { saveSettings, type Settings } from "./api";
import { t } from "./texts";
import { bodyOf, formOf, type SettingsForm as Values } from "./validate";

const modes = ["suggest", "ask_before_write", "autopilot"] as const;

/** What the agent may do and cost. As the introduction it switches the agent on. */
export function SettingsForm({ settings, intro = false }: { settings: Settings; intro?: boolean }) {
  const queries = useQueryClient();
  const form = useForm<Values>({
    mode: "uncontrolled",
    initialValues: { ...formOf(settings), enabled: intro || settings.enabled },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    queries.setQueryData(["ai", "settings"], await saveSettings(bodyOf(values, settings)));
    done(t("settings.saved"));
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack maw={640}>
        {intro && (
          <Alert color="blue" title={t("intro.title")}>
            {t("intro.text")}
          </Alert>
        )}
        {!intro && (
          <Switch
            label={t("settings.enabled")}
            key={form.key("enabled")}
            {...form.getInputProps("enabled", { type: "checkbox" })}
          />
        )}
        <Radio.Group label={t("settings.mode")} key={form.key("mode")} {...form.getInputProps("mode")}>
          <Stack gap="xs" mt="xs">
            {modes.map((mode) => (
              <Radio key={mode} value={mode} label={t(`mode.${mode}`)} description={t(`mode_what.${mode}`)} />
            ))}
          </Stack>
        </Radio.Group>
        <NumberInput
          label={t("settings.budget")}
          description={t("settings.budget_hint", { spent: money(settings.spent_this_month) })}
          min={0}
          decimalScale={2}
          prefix="$"
          key={form.key("budget")}
          {...form.getInputProps("budget")}
        />
        <Textarea
          label={t("settings.allowed")}
          description={t("settings.allowed_hint")}
          autosize
          spellCheck={false}
          key={form.key("allowed_paths")}
          {...form.getInputProps("allowed_paths")}
        />
        <Textarea
          label={t("settings.denied")}
          description={t("settings.denied_hint")}
          autosize
          spellCheck={false}
          key={form.key("denied_paths")}
          {...form.getInputProps("denied_paths")}
        />
        {settings.models.length > 1 && (
          <Select
            label={t("settings.model")}
            data={settings.models}
            allowDeselect={false}
            key={form.key("model")}
            {...form.getInputProps("model")}
          />
        )}
        <Switch
          label={t("settings.undo")}
          key={form.key("undo_when_broken")}
          {...form.getInputProps("undo_when_broken", { type: "checkbox" })}
        />
        <Switch
          label={t("settings.notify")}
          key={form.key("notify_on_insight")}
          {...form.getInputProps("notify_on_insight", { type: "checkbox" })}
        />
        <Text size="sm" c="dimmed">
          {t("settings.secrets")}
        </Text>
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={form.submitting}>
            {t(intro ? "intro.on" : "settings.save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
