import {
  Accordion,
  Button,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { duration } from "~/ui/outage/outage";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { ServiceField } from "~/ui/ticket/ServiceField";

import { channels, createMonitor, updateMonitor, type Monitor } from "./api";
import { delays, reminders, times } from "./format";
import { HeaderFields } from "./HeaderFields";
import { t } from "./texts";
import {
  asksHost,
  asksWeb,
  daysProblem,
  endProblem,
  formOf,
  hasPort,
  headerProblem,
  hostProblem,
  intervals,
  kinds,
  methods,
  recordTypes,
  sendsBody,
  settingsOf,
  statusesProblem,
  urlProblem,
  warnsOfCertificate,
  type MonitorForm,
} from "./validate";
import { WindowFields } from "./WindowFields";

/** The fields of "More settings" that may be refused. */
const below = new Set(
  "expected_statuses headers body retries timeout_ms timeout_s retry_interval_s max_response_ms regions quorum ssl_expiry_days domain_expiry_days windows maintenance_windows tags".split(
    " ",
  ),
);

/** The row of a list that a field's path, such as "windows.2.from", is in. */
const indexOf = (path: string) => Number(path.split(".")[1]);
const kindAt = (windows: MonitorForm["windows"], path: string) => windows[indexOf(path)]?.kind;

const say = (problem: Parameters<typeof t>[0] | null) => problem && t(problem);

/** Makes a monitor, or changes one. Only the fields that its kind has a use for are shown. */
export function MonitorFormDialog({
  monitor,
  onDone,
}: {
  monitor: Monitor | null;
  onDone: (monitor: Monitor) => Promise<void>;
}) {
  const told = useQuery(channels);
  const form = useForm<MonitorForm>({
    mode: "controlled",
    initialValues: formOf(monitor),
    validate: {
      url: (url, { type }) => (asksWeb(type) ? say(urlProblem(url)) : null),
      host: (host, { type }) => (asksHost(type) ? say(hostProblem(host)) : null),
      port: (port, { type }) => (type === "tcp" && port === "" ? t("port.empty") : null),
      keyword: (keyword, { type }) => (type === "keyword" && keyword === "" ? t("keyword.empty") : null),
      json_path: (path, { type }) => (type === "json" && path.trim() === "" ? t("json_path.empty") : null),
      expected_statuses: (text, { type }) => (asksWeb(type) ? say(statusesProblem(text)) : null),
      ssl_expiry_days: (text) => say(daysProblem(text)),
      domain_expiry_days: (text) => say(daysProblem(text)),
      headers: { name: (name) => say(headerProblem(name)) },
      windows: {
        from: (from, { windows }, path) => (kindAt(windows, path) === "weekly" && !from ? t("window.empty") : null),
        to: (to, { windows }, path) => (kindAt(windows, path) === "weekly" && !to ? t("window.empty") : null),
        ends_at: (end, { windows }, path) => {
          const window = windows[indexOf(path)];
          return window?.kind === "once" ? say(endProblem(window.starts_at, end)) : null;
        },
      },
    },
  });
  const values = form.getValues();
  const { type } = values;
  const [opened, setMore] = useState(false);
  // What is wrong is not hidden.
  const more = opened || Object.keys(form.errors).some((field) => below.has(field.split(".")[0] ?? ""));
  const { submit, error } = useSubmit(form, async (typed) => {
    const settings = settingsOf(typed);
    await onDone(
      await (monitor ? updateMonitor(monitor.id, settings) : createMonitor({ type: typed.type, ...settings })),
    );
  });
  const verified = (told.data?.data ?? []).filter((channel) => channel.verified);
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <NativeSelect
          label={t("field.type")}
          description={t(`kind.${type}.hint`)}
          disabled={monitor !== null}
          data={kinds.map((value) => ({ value, label: t(`kind.${value}`) }))}
          {...form.getInputProps("type")}
        />
        {asksWeb(type) && (
          <TextInput
            label={t("field.url")}
            placeholder="https://example.com/"
            type="url"
            autoComplete="off"
            spellCheck={false}
            data-autofocus
            {...form.getInputProps("url")}
          />
        )}
        {asksHost(type) && (
          <Group grow align="flex-start">
            <TextInput
              label={t(type === "domain" ? "field.domain" : "field.host")}
              placeholder="example.com"
              autoComplete="off"
              spellCheck={false}
              {...form.getInputProps("host")}
            />
            {hasPort(type) && (
              <NumberInput
                label={t("field.port")}
                placeholder={type === "ssl" ? "443" : "25"}
                min={1}
                max={65535}
                thousandSeparator={false}
                allowDecimal={false}
                {...form.getInputProps("port")}
              />
            )}
          </Group>
        )}
        {type === "keyword" && (
          <Group grow align="flex-start">
            <TextInput label={t("field.keyword")} {...form.getInputProps("keyword")} />
            <NativeSelect
              label={t("field.keyword_mode")}
              data={[
                { value: "present", label: t("keyword.present") },
                { value: "absent", label: t("keyword.absent") },
              ]}
              {...form.getInputProps("keyword_mode")}
            />
          </Group>
        )}
        {type === "json" && (
          <Group grow align="flex-start">
            <TextInput
              label={t("field.json_path")}
              placeholder="$.status"
              spellCheck={false}
              {...form.getInputProps("json_path")}
            />
            <TextInput label={t("field.json_expected")} {...form.getInputProps("json_expected")} />
          </Group>
        )}
        {type === "dns" && (
          <Group grow align="flex-start">
            <NativeSelect label={t("field.dns_type")} data={recordTypes} {...form.getInputProps("dns_type")} />
            <TextInput
              label={t("field.dns_expected")}
              description={t("field.dns_expected_hint")}
              inputWrapperOrder={["label", "input", "description", "error"]}
              spellCheck={false}
              {...form.getInputProps("dns_expected")}
            />
          </Group>
        )}
        <Group grow align="flex-start">
          <TextInput
            label={t("field.name")}
            placeholder={t("field.name_hint")}
            maxLength={100}
            {...form.getInputProps("name")}
          />
          <NativeSelect
            label={t(type === "heartbeat" ? "field.expected_every" : "field.interval")}
            data={intervals.map((seconds) => ({ value: String(seconds), label: duration(seconds) }))}
            {...form.getInputProps("interval_s")}
          />
        </Group>
        <ServiceField
          label={t("field.service")}
          chosen={monitor?.service_id ?? undefined}
          value={values.service_id === "0" ? null : values.service_id}
          onChange={(service) => form.setFieldValue("service_id", service ?? "0")}
          error={form.errors.service_id}
        />
        <Checkbox.Group
          label={t("field.channels")}
          description={t("field.channels_hint")}
          {...form.getInputProps("channels")}
        >
          <Stack gap="xs" mt="xs">
            {verified.map((channel) => (
              <Checkbox key={channel.id} value={String(channel.id)} label={channel.name} />
            ))}
            {verified.length === 0 && (
              <Text size="sm" c="dimmed">
                {t("field.channels_none")}
              </Text>
            )}
          </Stack>
        </Checkbox.Group>
        <Accordion variant="contained" value={more ? "more" : null} onChange={(value) => setMore(value !== null)}>
          <Accordion.Item value="more">
            <Accordion.Control>{t("more")}</Accordion.Control>
            <Accordion.Panel>
              <Stack>
                {asksWeb(type) && (
                  <>
                    <Group grow align="flex-start">
                      <NativeSelect label={t("field.method")} data={methods} {...form.getInputProps("method")} />
                      <TextInput
                        label={t("field.expected_statuses")}
                        placeholder="200-299, 301"
                        {...form.getInputProps("expected_statuses")}
                      />
                    </Group>
                    <Switch
                      label={t("field.follow_redirects")}
                      {...form.getInputProps("follow_redirects", { type: "checkbox" })}
                    />
                    <Switch label={t("field.verify_tls")} {...form.getInputProps("verify_tls", { type: "checkbox" })} />
                    <HeaderFields form={form} />
                    {sendsBody(values.method) && (
                      <Textarea
                        label={t("field.body")}
                        autosize
                        minRows={2}
                        maxRows={10}
                        maxLength={16384}
                        spellCheck={false}
                        {...form.getInputProps("body")}
                      />
                    )}
                  </>
                )}
                {type !== "heartbeat" && (
                  <Group grow align="flex-start">
                    <NumberInput
                      label={t("field.retries")}
                      min={0}
                      max={10}
                      allowDecimal={false}
                      {...form.getInputProps("retries")}
                    />
                    <NumberInput label={t("field.timeout")} min={1} max={60} {...form.getInputProps("timeout_s")} />
                  </Group>
                )}
                <Group grow align="flex-start">
                  <NumberInput
                    label={t(type === "heartbeat" ? "field.late" : "field.retry_interval")}
                    min={10}
                    allowDecimal={false}
                    {...form.getInputProps("retry_interval_s")}
                  />
                  {type !== "heartbeat" && (
                    <NumberInput
                      label={t("field.max_response")}
                      placeholder={t("field.max_response_hint")}
                      min={0}
                      allowDecimal={false}
                      {...form.getInputProps("max_response_ms")}
                    />
                  )}
                </Group>
                {type !== "heartbeat" && type !== "domain" && (
                  <Group grow align="flex-start">
                    <TextInput
                      label={t("field.regions")}
                      description={t("field.regions_hint")}
                      inputWrapperOrder={["label", "input", "description", "error"]}
                      placeholder={t("field.regions_all")}
                      spellCheck={false}
                      {...form.getInputProps("regions")}
                    />
                    <NumberInput
                      label={t("field.quorum")}
                      placeholder={t("field.quorum_hint")}
                      min={0}
                      max={50}
                      allowDecimal={false}
                      {...form.getInputProps("quorum")}
                    />
                  </Group>
                )}
                {(warnsOfCertificate(type, values.url) || type === "domain") && (
                  <TextInput
                    label={t(type === "domain" ? "field.domain_days" : "field.ssl_days")}
                    placeholder="30, 14, 7, 1"
                    inputMode="numeric"
                    {...form.getInputProps(type === "domain" ? "domain_expiry_days" : "ssl_expiry_days")}
                  />
                )}
                <Group grow align="flex-start">
                  <NativeSelect
                    label={t("field.alert_after")}
                    data={times(delays, values.alert_after_s, t("at_once"))}
                    {...form.getInputProps("alert_after_s")}
                  />
                  <NativeSelect
                    label={t("field.reminder_every")}
                    data={times(reminders, values.reminder_every_s, t("no_reminder"))}
                    {...form.getInputProps("reminder_every_s")}
                  />
                </Group>
                <WindowFields form={form} />
                <TextInput
                  label={t("field.tags")}
                  description={t("field.tags_hint")}
                  inputWrapperOrder={["label", "input", "description", "error"]}
                  {...form.getInputProps("tags")}
                />
              </Stack>
            </Accordion.Panel>
          </Accordion.Item>
        </Accordion>
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t(monitor ? "save" : "add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
