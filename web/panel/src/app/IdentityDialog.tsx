import { Button, Group, Modal, PasswordInput, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconFingerprint } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { me } from "~/api/me";
import { identity } from "~/api/session";
import { useAction } from "~/ui/action";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Username } from "~/ui/Username";

import { confirm, hasPasskey, proveByPasskey } from "./passkey";
import { t } from "./texts";

/** Proves that the owner sits in front of the browser. The calls that wait are repeated afterwards, or refused when it is closed. */
export function IdentityDialog() {
  const { data } = useQuery(me);
  const form = useForm({ mode: "uncontrolled", initialValues: { password: "", code: "" } });
  const { submit, error } = useSubmit(form, async (values) => {
    await confirm("", values);
    identity.resume();
  });
  const passkey = useQuery({ queryKey: ["identity", "passkey"], queryFn: ({ signal }) => hasPasskey(signal) });
  const [prove, proving] = useAction(async () => {
    if (await proveByPasskey()) identity.resume();
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
          <ErrorNote error={error ?? proving.error} />
          <Group justify={passkey.data ? "space-between" : "flex-end"}>
            {passkey.data && (
              <Button
                variant="default"
                leftSection={<IconFingerprint size={18} aria-hidden />}
                loading={proving.busy}
                onClick={() => void prove()}
              >
                {t("identity.passkey")}
              </Button>
            )}
            <Button type="submit" loading={form.submitting}>
              {t("identity.confirm")}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
