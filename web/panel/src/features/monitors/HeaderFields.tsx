import { Button, Group, Input, Stack, Text, TextInput } from "@mantine/core";
import { type UseFormReturnType } from "@mantine/form";

import { t } from "./texts";
import { newHeader, type MonitorForm } from "./validate";

/** The headers of a request. The values of those that are there are never shown, and stay unless others are typed. */
export function HeaderFields({ form }: { form: UseFormReturnType<MonitorForm> }) {
  const { headers } = form.getValues();
  return (
    <Stack gap="xs" role="group" aria-labelledby="monitor-headers">
      <Text size="sm" fw={600} id="monitor-headers">
        {t("headers")}
      </Text>
      <Text size="xs" c="dimmed">
        {t("headers.hint")}
      </Text>
      {headers.map((header, at) => (
        <Group key={header.key} gap="xs" align="flex-start" wrap="nowrap">
          <TextInput
            flex={1}
            miw={0}
            aria-label={t("header.name", { number: at + 1 })}
            placeholder="Authorization"
            autoComplete="off"
            spellCheck={false}
            readOnly={header.kept}
            {...form.getInputProps(`headers.${at}.name`)}
          />
          <TextInput
            flex={1}
            miw={0}
            aria-label={t("header.value", { number: at + 1 })}
            placeholder={header.kept ? t("header.kept") : ""}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps(`headers.${at}.value`)}
          />
          <Button
            variant="subtle"
            color="red"
            px="xs"
            onClick={() => form.removeListItem("headers", at)}
            aria-label={t("header.remove", { number: at + 1 })}
          >
            ×
          </Button>
        </Group>
      ))}
      {form.errors.headers && <Input.Error>{form.errors.headers}</Input.Error>}
      {headers.length < 20 && (
        <Group>
          <Button size="compact-sm" variant="light" onClick={() => form.insertListItem("headers", newHeader())}>
            {t("header.add")}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
