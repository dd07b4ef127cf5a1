import { Button, Checkbox, Group, NativeSelect, Paper, Stack, Text, TextInput } from "@mantine/core";
import { type UseFormReturnType } from "@mantine/form";

import { t } from "./texts";
import { newWindow, weekdays, type MonitorForm } from "./validate";

/** The times in which nobody is alarmed: each week, or once. */
export function WindowFields({ form }: { form: UseFormReturnType<MonitorForm> }) {
  const { windows } = form.getValues();
  return (
    <Stack gap="xs" role="group" aria-labelledby="monitor-windows">
      <Text size="sm" fw={600} id="monitor-windows">
        {t("windows")}
      </Text>
      <Text size="xs" c="dimmed">
        {t("windows.hint")}
      </Text>
      {windows.map((window, at) => (
        <Paper withBorder p="sm" key={window.key}>
          <Stack gap="xs">
            <NativeSelect
              label={t("window.kind")}
              data={[
                { value: "weekly", label: t("window.weekly") },
                { value: "once", label: t("window.once") },
              ]}
              {...form.getInputProps(`windows.${at}.kind`)}
            />
            {window.kind === "weekly" ? (
              <>
                <Checkbox.Group
                  label={t("window.days")}
                  description={t("window.days_hint")}
                  {...form.getInputProps(`windows.${at}.days`)}
                >
                  <Group gap="sm" mt="xs">
                    {weekdays.map((day) => (
                      <Checkbox key={day} value={day} label={t(`window.day.${day}`)} />
                    ))}
                  </Group>
                </Checkbox.Group>
                <Group grow align="flex-start">
                  <TextInput type="time" label={t("window.from")} {...form.getInputProps(`windows.${at}.from`)} />
                  <TextInput type="time" label={t("window.to")} {...form.getInputProps(`windows.${at}.to`)} />
                </Group>
                <TextInput
                  label={t("window.timezone")}
                  placeholder="UTC"
                  spellCheck={false}
                  {...form.getInputProps(`windows.${at}.timezone`)}
                />
              </>
            ) : (
              <Group grow align="flex-start">
                <TextInput
                  type="datetime-local"
                  label={t("window.starts_at")}
                  {...form.getInputProps(`windows.${at}.starts_at`)}
                />
                <TextInput
                  type="datetime-local"
                  label={t("window.ends_at")}
                  {...form.getInputProps(`windows.${at}.ends_at`)}
                />
              </Group>
            )}
            <Group justify="flex-end">
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                onClick={() => form.removeListItem("windows", at)}
                aria-label={t("window.remove", { number: at + 1 })}
              >
                {t("remove.short")}
              </Button>
            </Group>
          </Stack>
        </Paper>
      ))}
      {windows.length < 10 && (
        <Group>
          <Button size="compact-sm" variant="light" onClick={() => form.insertListItem("windows", newWindow())}>
            {t("window.add")}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
