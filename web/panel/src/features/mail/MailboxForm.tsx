import { Button, Group, NumberInput, Slider, Stack, Switch, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";

import { localTime, utcTime } from "~/i18n/localtime";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";

import { updateMailbox, type Mailbox } from "./api";
import { PasswordField } from "./PasswordField";
import { t } from "./texts";
import { addresses, addressesProblem, passwordProblem, quotaProblem } from "./validate";

/** The settings of a mailbox: size, forwarding, answers, spam, password. */
export function MailboxForm({
  service,
  box,
  onDone,
}: {
  service: number;
  box: Mailbox;
  onDone: (password: string) => Promise<void>;
}) {
  const form = useForm({
    mode: "controlled",
    initialValues: {
      quota_mb: box.quota_mb as number | string,
      aliases: box.aliases.join("\n"),
      forward_to: box.forward_to.join("\n"),
      keep_copy: box.keep_copy,
      catch_all: box.catch_all,
      spam_threshold: box.spam_threshold,
      suspended: box.status === "suspended",
      password: "",
      away: box.autoresponder.enabled,
      subject: box.autoresponder.subject,
      body: box.autoresponder.body,
      starts_at: localTime(box.autoresponder.starts_at),
      ends_at: localTime(box.autoresponder.ends_at),
    },
    validate: {
      quota_mb: (quota) => {
        const problem = quotaProblem(quota);
        return problem && t(problem);
      },
      aliases: (text) => {
        const problem = addressesProblem(text);
        return problem && t(problem);
      },
      forward_to: (text) => {
        const problem = addressesProblem(text);
        return problem && t(problem);
      },
      password: (password) => {
        const problem = passwordProblem(password, true);
        return problem && t(problem);
      },
      body: (body, { away }) => (away && body.trim() === "" ? t("away.empty") : null),
      ends_at: (end, { starts_at }) => (end && starts_at && end <= starts_at ? t("away.order") : null),
    },
  });
  const values = form.getValues();
  const { submit, error } = useSubmit(form, async (typed) => {
    await updateMailbox(service, box.id, {
      quota_mb: Number(typed.quota_mb),
      aliases: addresses(typed.aliases),
      forward_to: addresses(typed.forward_to),
      keep_copy: typed.keep_copy,
      catch_all: typed.catch_all,
      spam_threshold: typed.spam_threshold,
      // A mailbox that is set up, has failed or is disabled does not show whether it is suspended.
      ...(form.isDirty("suspended") ? { suspended: typed.suspended } : {}),
      ...(typed.password ? { password: typed.password } : {}),
      autoresponder: {
        enabled: typed.away,
        subject: typed.subject,
        body: typed.body,
        starts_at: utcTime(typed.starts_at),
        ends_at: utcTime(typed.ends_at),
      },
    });
    await onDone(typed.password);
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <NumberInput label={t("field.quota_mb")} min={1} step={512} {...form.getInputProps("quota_mb")} />
        <Textarea
          label={t("field.aliases")}
          description={t("field.aliases_hint")}
          autosize
          minRows={1}
          spellCheck={false}
          {...form.getInputProps("aliases")}
        />
        <Textarea
          label={t("field.forward_to")}
          description={t("field.forward_to_hint")}
          autosize
          minRows={1}
          spellCheck={false}
          {...form.getInputProps("forward_to")}
        />
        {values.forward_to.trim() !== "" && (
          <Switch label={t("field.keep_copy")} {...form.getInputProps("keep_copy", { type: "checkbox" })} />
        )}
        <Switch
          label={t("field.catch_all")}
          description={t("field.catch_all_hint")}
          {...form.getInputProps("catch_all", { type: "checkbox" })}
        />
        <div>
          <Text size="sm" fw={500} id="spam-label">
            {t("field.spam_threshold")}
          </Text>
          <Text size="xs" c="dimmed" mb="xs">
            {values.spam_threshold === 0 ? t("spam.off") : t("spam.from", { score: values.spam_threshold })}
          </Text>
          <Slider
            min={0}
            max={14}
            step={1}
            thumbProps={{ "aria-labelledby": "spam-label" }}
            label={null}
            {...form.getInputProps("spam_threshold")}
          />
        </div>
        <Title order={2} size="h4">
          {t("away.title")}
        </Title>
        <Switch label={t("away.enabled")} {...form.getInputProps("away", { type: "checkbox" })} />
        {values.away && (
          <>
            <TextInput label={t("away.subject")} maxLength={200} {...form.getInputProps("subject")} />
            <Textarea label={t("away.body")} autosize minRows={3} maxLength={10000} {...form.getInputProps("body")} />
            <Group grow align="flex-start">
              <TextInput
                type="datetime-local"
                label={t("away.from")}
                description={t("away.from_hint")}
                {...form.getInputProps("starts_at")}
              />
              <TextInput
                type="datetime-local"
                label={t("away.until")}
                description={t("away.until_hint")}
                {...form.getInputProps("ends_at")}
              />
            </Group>
          </>
        )}
        <Title order={2} size="h4">
          {t("access.title")}
        </Title>
        <PasswordField
          label={t("field.new_password")}
          description={t("field.new_password_hint")}
          {...form.getInputProps("password")}
          onMake={(password) => form.setFieldValue("password", password)}
        />
        <Switch
          label={t("field.suspended")}
          description={t("field.suspended_hint")}
          {...form.getInputProps("suspended", { type: "checkbox" })}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
