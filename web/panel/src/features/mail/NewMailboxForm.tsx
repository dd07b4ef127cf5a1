import { Button, Group, NativeSelect, NumberInput, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";

import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { Refusal } from "~/ui/proof/Refusal";

import { createMailbox, mailDomains, type Mailbox } from "./api";
import { PasswordField } from "./PasswordField";
import { t } from "./texts";
import { localProblem, newPassword, passwordProblem, quotaProblem } from "./validate";

/** A new mailbox. Its password is made here; the server never shows it again. */
export function NewMailboxForm(props: { service: number; onDone: (row: Mailbox, password: string) => Promise<void> }) {
  const query = useQuery(mailDomains(props.service));
  return <Load query={query}>{(rows) => <Fields {...props} domains={rows.map((row) => row.name)} />}</Load>;
}

function Fields({
  service,
  domains,
  onDone,
}: {
  service: number;
  domains: string[];
  onDone: (row: Mailbox, password: string) => Promise<void>;
}) {
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []); // the dialog opened before its domains were there
  const form = useForm({
    mode: "controlled",
    initialValues: {
      local_part: "",
      domain: domains[0] ?? "",
      password: newPassword(),
      quota_mb: 1024 as number | string,
    },
    validate: {
      local_part: (local) => {
        const problem = localProblem(local.trim());
        return problem && t(problem);
      },
      password: (password) => {
        const problem = passwordProblem(password);
        return problem && t(problem);
      },
      quota_mb: (quota) => {
        const problem = quotaProblem(quota);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    const body = { ...values, local_part: values.local_part.trim(), quota_mb: Number(values.quota_mb) };
    await onDone(await createMailbox(service, body), values.password);
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Group align="flex-start" gap="xs" grow>
          <TextInput
            label={t("field.local_part")}
            description={t("field.local_part_hint")}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            ref={first}
            {...form.getInputProps("local_part")}
          />
          <NativeSelect
            label={t("field.domain")}
            description={t("field.domain_hint")}
            data={domains}
            {...form.getInputProps("domain")}
          />
        </Group>
        <PasswordField
          label={t("field.password")}
          {...form.getInputProps("password")}
          onMake={(password) => form.setFieldValue("password", password)}
        />
        <NumberInput label={t("field.quota_mb")} min={1} step={512} {...form.getInputProps("quota_mb")} />
        <Refusal error={error} onProven={submit} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
