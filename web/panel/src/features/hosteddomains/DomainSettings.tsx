import { Alert, Button, Divider, Group, Stack, Switch, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link } from "@tanstack/react-router";

import { Confirm } from "~/ui/Confirm";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { done } from "~/ui/notice";
import { Proof } from "~/ui/proof/Proof";
import { RecordFields } from "~/ui/RecordFields";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { updateDomain, type HostedDomain } from "./api";
import { t } from "./texts";
import { targetProblem, wantedRecords } from "./validate";

/** A domain: whether it is proven and leads here, and its settings. */
export function DomainSettings({
  service,
  domain,
  onChange,
  onDone,
}: {
  service: number;
  domain: HostedDomain;
  onChange: () => Promise<unknown>;
  onDone: () => Promise<void>;
}) {
  const { verification, dns } = domain;
  const proven = ["not_required", "verified", "dns_leads_here"].includes(verification.state);
  return (
    <Stack>
      {domain.status === "failed" && (
        <Alert color="red" variant="light" title={t("failed.title")}>
          {t("failed.text")}
        </Alert>
      )}
      {domain.displaced_name && (
        <Alert color="orange" variant="light" title={t("displaced", { name: domain.displaced_name })} />
      )}
      {verification.loses_at && (
        <Alert color="red" variant="light" title={t("challenged")}>
          {t("challenged.until")} <When time={verification.loses_at} />
        </Alert>
      )}
      {!proven && (
        <Proof
          domain={domain.displaced_name ?? domain.name}
          record={verification.record}
          nameservers={verification.nameservers}
          onLooked={onChange}
        />
      )}
      <Title order={2} size="h4">
        {t("dns.title")}
      </Title>
      <Group gap="xs">
        <Status
          tone={dns.status === "pointed" ? "good" : dns.status === "not_pointed" ? "warn" : "neutral"}
          label={t(`dns.${dns.status}`)}
        />
        {dns.checked_at && (
          <Text size="sm" c="dimmed">
            {t("dns.checked")} <When time={dns.checked_at} form="relative" />
          </Text>
        )}
      </Group>
      <Text size="sm">
        {t("dns.shows")} {dns.found.length > 0 ? dns.found.join(", ") : t("dns.nothing")}
      </Text>
      {dns.status !== "pointed" &&
        wantedRecords(domain.name, dns.expected, dns.found).map((record) => (
          <Group key={record.value} justify="space-between">
            <RecordFields record={record} />
            <Status tone={record.there ? "good" : "warn"} label={t(record.there ? "dns.there" : "dns.missing")} />
          </Group>
        ))}
      <Text size="sm" c="dimmed">
        {t("dns.elsewhere")}
      </Text>
      <Divider />
      <SettingsForm service={service} domain={domain} onDone={onDone} />
      <Group gap="sm">
        <Button component={Link} to={`/services/${service}/dns`} variant="light" size="sm">
          {t("link.dns")}
        </Button>
        <Button component={Link} to={`/services/${service}/certificates`} variant="light" size="sm">
          {t("link.certificates")}
        </Button>
        {!domain.primary && domain.kind !== "alias" && (
          <Confirm
            label={t("primary.make")}
            title={t("primary.title", { name: domain.unicode_name })}
            text={t("primary.text")}
            color="brand"
            size="sm"
            action={async () => {
              await updateDomain(service, domain.id, { primary: true });
              done(t("saved"));
              await onDone();
            }}
          />
        )}
      </Group>
    </Stack>
  );
}

function SettingsForm({
  service,
  domain,
  onDone,
}: {
  service: number;
  domain: HostedDomain;
  onDone: () => Promise<void>;
}) {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: {
      document_root: domain.document_root ?? "",
      redirect_to: domain.redirect_to ?? "",
      force_https: domain.force_https,
    },
    validate: {
      redirect_to: (target) => {
        const problem = target.trim() === "" ? null : targetProblem(target);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    await updateDomain(service, domain.id, {
      ...(domain.document_root !== null && values.document_root !== domain.document_root
        ? { document_root: values.document_root.trim() }
        : {}),
      ...(values.redirect_to.trim() === (domain.redirect_to ?? "") ? {} : { redirect_to: values.redirect_to.trim() }),
      ...(values.force_https === domain.force_https ? {} : { force_https: values.force_https }),
    });
    done(t("saved"));
    await onDone();
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Title order={2} size="h4">
          {t("settings.title")}
        </Title>
        {domain.document_root !== null && (
          <TextInput
            label={t("field.document_root")}
            description={t("field.document_root_edit")}
            spellCheck={false}
            key={form.key("document_root")}
            {...form.getInputProps("document_root")}
          />
        )}
        <TextInput
          type="url"
          label={t("field.redirect_to")}
          description={t("field.redirect_to_edit")}
          placeholder="https://example.com"
          key={form.key("redirect_to")}
          {...form.getInputProps("redirect_to")}
        />
        <Switch
          label={t("field.force_https")}
          description={t("field.force_https_hint")}
          disabled={!domain.force_https && domain.tls.status !== "active"}
          key={form.key("force_https")}
          {...form.getInputProps("force_https", { type: "checkbox" })}
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
