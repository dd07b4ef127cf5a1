import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";

import { ApiFailure } from "~/api/failure";
import { me } from "~/api/me";
import { identity } from "~/api/session";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Username } from "~/ui/Username";

import { t } from "./texts";

/** Proves that the owner sits in front of the browser. The calls that wait are repeated afterwards, or refused when it is closed. */
export function IdentityDialog() {
  const { data } = useQuery(me);
  const form = useForm({ mode: "uncontrolled", initialValues: { password: "", code: "" } });
  const { submit, error } = useSubmit(form, async (values) => {
    await confirm(values);
    identity.resume();
  });
  return (
    <Modal opened onClose={() => identity.resume(false)} title={t("identity.title")} centered zIndex={300}>
      <form onSubmit={submit} noValidate>
        <Stack>
          <Text>{t("identity.text")}</Text>
          <Username />
          <PasswordInput
            label={t("identity.password")}
            autoComplete="current-password"
            data-autofocus
            key={form.key("password")}
            {...form.getInputProps("password")}
          />
          {data?.two_factor && (
            <TextInput
              label={t("identity.code")}
              autoComplete="one-time-code"
              key={form.key("code")}
              {...form.getInputProps("code")}
            />
          )}
          <ErrorNote error={error} />
          <Group justify="flex-end">
            <Button type="submit" loading={form.submitting}>
              {t("identity.confirm")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** The answer gives the browser another cookie, so it is no operation of the interface. */
async function confirm(values: { password: string; code: string }) {
  const response = await fetch("/panel/confirm", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(values),
  });
  if (response.ok) return;
  throw new ApiFailure(
    response.status,
    (await response.json().catch(() => ({}))) as Record<string, unknown>,
    response.headers,
  );
}
