import { Alert, Button, Card, Group, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { me, type Me } from "~/api/me";
import { pageHeaders } from "~/api/page";
import { languages, setLanguage, type Lang } from "~/i18n/i18n";
import { AnchorLink } from "~/ui/AnchorLink";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { changeEmail, currencies, updateMe } from "./api";
import { t } from "./texts";
import { emailProblem } from "./validate";

/** Who the customer is to us: name, language, currency and address. */
export function Profile() {
  const query = useQuery(me);
  return (
    <>
      <PageHeader title={t("profile.title")} description={t("profile.description")} />
      <Load query={query}>
        {(data) => (
          <Stack maw={640}>
            <Card withBorder>
              <ProfileForm account={data} />
            </Card>
            <Card withBorder>
              <EmailForm account={data} />
            </Card>
            <Text size="sm">
              {t("profile.billing")} <AnchorLink to="/billing">{t("profile.billing.link")}</AnchorLink>
            </Text>
            <Text size="sm" c="dimmed">
              {t("profile.number", { id: data.id })} · {t("profile.since")} <When time={data.created_at} form="day" />
            </Text>
          </Stack>
        )}
      </Load>
    </>
  );
}

function ProfileForm({ account }: { account: Me }) {
  const queries = useQueryClient();
  const known = useQuery(currencies).data?.data.map(({ code }) => code) ?? [account.currency];
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { name: account.name, locale: account.locale, currency: account.currency },
    validate: { name: (name) => (name.trim() ? null : t("problem.required")) },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    const saved = await updateMe(values);
    queries.setQueryData(me.queryKey, saved);
    if (saved.locale !== account.locale) {
      await fetch(`/panel/?lang=${saved.locale}`, { headers: pageHeaders }); // the server remembers it
      await setLanguage(saved.locale as Lang);
    }
    await queries.invalidateQueries(); // prices and texts follow
    done(t("profile.saved"));
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("profile.name")}
          autoComplete="name"
          maxLength={100}
          key={form.key("name")}
          {...form.getInputProps("name")}
        />
        <Select
          label={t("profile.locale")}
          description={t("profile.locale.hint")}
          allowDeselect={false}
          data={Object.entries(languages).map(([value, label]) => ({ value, label }))}
          key={form.key("locale")}
          {...form.getInputProps("locale")}
        />
        <Select
          label={t("profile.currency")}
          description={t("profile.currency.hint")}
          allowDeselect={false}
          searchable
          data={known}
          key={form.key("currency")}
          {...form.getInputProps("currency")}
        />
        <Text size="sm" c="dimmed">
          {t("profile.zone", { zone: Intl.DateTimeFormat().resolvedOptions().timeZone })}
        </Text>
        <ErrorNote error={error} />
        <Group>
          <Button type="submit" loading={form.submitting}>
            {t("save")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function EmailForm({ account }: { account: Me }) {
  const [sent, setSent] = useState("");
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { email: account.email },
    validate: {
      email: (email) => {
        const problem = emailProblem(email);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async ({ email }) => {
    setSent("");
    await changeEmail(email.trim());
    setSent(email.trim());
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Group gap="sm">
          <Title order={2} size="h4">
            {t("email.title")}
          </Title>
          {account.email_verified ? (
            <Status tone="good" label={t("email.verified")} />
          ) : (
            <Status tone="warn" label={t("email.unverified")} />
          )}
        </Group>
        <Text size="sm">{t(account.email_verified ? "email.change" : "email.confirm")}</Text>
        <TextInput
          label={t("email.field")}
          type="email"
          autoComplete="email"
          key={form.key("email")}
          {...form.getInputProps("email")}
        />
        <ErrorNote error={error} />
        {sent && (
          <Alert color="green" role="status">
            {t("email.sent", { email: sent })}
          </Alert>
        )}
        <Group>
          <Button type="submit" variant="default" loading={form.submitting}>
            {t("email.send")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
