import { Alert, Button, Group, Modal, NativeSelect, Stack, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconBellPlus, IconPencil, IconSend, IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { IconAction } from "~/ui/IconAction";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { duration } from "~/ui/outage/outage";
import { Status } from "~/ui/Status";

import {
  channels,
  createChannel,
  deleteChannel,
  testChannel,
  updateChannel,
  verifyChannel,
  type Channel,
  type NewChannel,
} from "./api";
import { delays, reminders, times } from "./format";
import { t } from "./texts";

const types = [
  "email",
  "push",
  "telegram",
  "slack",
  "discord",
  "webhook",
] as const satisfies readonly Channel["type"][];

/** Where a customer is told of outages, beside the notifications. */
export function Channels() {
  const query = useQuery(channels);
  const queries = useQueryClient();
  const [form, setForm] = useState<Channel | "new" | null>(null);
  const [proving, setProving] = useState<Channel | null>(null);
  const fresh = () => queries.invalidateQueries({ queryKey: ["monitors", "channels"] });
  const test = async (channel: Channel) => {
    try {
      const { last_error_key: problem } = await testChannel(channel.id);
      await fresh();
      if (problem === null) done(t("channel.tested", { name: channel.name }));
    } catch (error) {
      failed(error);
    }
  };
  const add = (
    <Button variant="light" leftSection={<IconBellPlus size={16} aria-hidden />} onClick={() => setForm("new")}>
      {t("channel.add")}
    </Button>
  );
  return (
    <section aria-labelledby="alert-channels">
      <Group justify="space-between" mb="sm">
        <div>
          <Title order={2} id="alert-channels">
            {t("channels")}
          </Title>
          <Text c="dimmed">{t("channels.text")}</Text>
        </div>
        {query.data && query.data.data.length > 0 && add}
      </Group>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconBellPlus} title={t("channels.empty")} text={t("channels.empty_text")} action={add} />
          ) : (
            <DataTable
              caption={t("channels")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "name",
                  label: t("column.name"),
                  render: (row) => (
                    <Stack gap={2}>
                      <Text fw={600}>{row.name}</Text>
                      <Text size="sm" c="dimmed">
                        {t(`channel.${row.type}`)}
                        {row.type !== "push" && row.target !== row.name && ` · ${row.target}`}
                      </Text>
                    </Stack>
                  ),
                },
                {
                  key: "status",
                  label: t("column.status"),
                  render: (row) => (
                    <Stack gap={2} align="flex-start">
                      {row.verified ? (
                        <Status
                          tone={row.last_error_key === null ? "good" : "bad"}
                          label={t(row.last_error_key === null ? "channel.ready" : "channel.failing")}
                        />
                      ) : (
                        <Button size="compact-sm" variant="light" onClick={() => setProving(row)}>
                          {t("channel.enter")}
                        </Button>
                      )}
                    </Stack>
                  ),
                },
                {
                  key: "events",
                  label: t("column.events"),
                  render: (row) => (
                    <Stack gap={2}>
                      <span>{t(`events.${row.events}`)}</span>
                      <Text size="sm" c="dimmed">
                        {row.delay_s > 0 && t("after", { time: duration(row.delay_s) })}
                        {row.delay_s > 0 && row.reminder_s > 0 && ", "}
                        {row.reminder_s > 0 && t("again", { time: duration(row.reminder_s) })}
                      </Text>
                    </Stack>
                  ),
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) => (
                    <>
                      {row.verified && (
                        <IconAction
                          icon={IconSend}
                          label={t("channel.test", { name: row.name })}
                          onClick={() => void test(row)}
                        />
                      )}
                      <IconAction
                        icon={IconPencil}
                        label={t("edit", { name: row.name })}
                        onClick={() => setForm(row)}
                      />
                      <Confirm
                        label={t("remove", { name: row.name })}
                        title={t("remove", { name: row.name })}
                        text={t("channel.remove_text")}
                        action={async () => {
                          await deleteChannel(row.id);
                          await queries.invalidateQueries({ queryKey: ["monitors"] });
                          done(t("removed", { name: row.name }));
                        }}
                        icon={<IconTrash size={16} aria-hidden />}
                        size="compact-sm"
                        variant="subtle"
                      />
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <Modal
        opened={form !== null}
        onClose={() => setForm(null)}
        title={form === "new" || form === null ? t("channel.add") : t("edit", { name: form.name })}
      >
        {form && (
          <ChannelForm
            channel={form === "new" ? null : form}
            onDone={async (made) => {
              setForm(null);
              await fresh();
              if (form === "new" && !made.verified) setProving(made);
              else done(t("saved", { name: made.name }));
            }}
          />
        )}
      </Modal>
      <Modal opened={proving !== null} onClose={() => setProving(null)} title={t("channel.enter")}>
        {proving && (
          <CodeForm
            channel={proving}
            onDone={async () => {
              setProving(null);
              await fresh();
              done(t("channel.proved", { name: proving.name }));
            }}
          />
        )}
      </Modal>
    </section>
  );
}

/** What is asked of each type, as the name of a text; null for one's own devices. */
const target = {
  email: "target.email",
  push: null,
  telegram: "target.telegram",
  slack: "target.slack",
  discord: "target.discord",
  webhook: "target.webhook",
} as const satisfies Record<Channel["type"], string | null>;

function ChannelForm({ channel, onDone }: { channel: Channel | null; onDone: (channel: Channel) => Promise<void> }) {
  const form = useForm({
    mode: "controlled",
    initialValues: {
      type: (channel?.type ?? "email") as NewChannel["type"],
      target: "",
      token: "",
      name: channel?.name ?? "",
      events: (channel?.events ?? "up_down") as Channel["events"],
      delay_s: String(channel?.delay_s ?? 0),
      reminder_s: String(channel?.reminder_s ?? 0),
    },
    validate: {
      target: (text, { type }) => (!channel && target[type] && text.trim() === "" ? t("target.empty") : null),
      token: (text, { type }) => (!channel && type === "telegram" && text.trim() === "" ? t("token.empty") : null),
    },
  });
  const { type, delay_s, reminder_s } = form.getValues();
  const { submit, error } = useSubmit(form, async (values) => {
    const settings = {
      events: values.events,
      delay_s: Number(values.delay_s),
      reminder_s: Number(values.reminder_s),
      ...(values.name.trim() ? { name: values.name.trim() } : {}),
    };
    const reached = {
      ...(target[values.type] ? { target: values.target.trim() } : {}),
      ...(values.type === "telegram" ? { token: values.token.trim() } : {}),
    };
    await onDone(
      await (channel
        ? updateChannel(channel.id, settings)
        : createChannel({ type: values.type, ...reached, ...settings })),
    );
  });
  const asked = target[type];
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {!channel && (
          <NativeSelect
            label={t("field.kind")}
            data-autofocus
            data={types.map((value) => ({ value, label: t(`channel.${value}`) }))}
            {...form.getInputProps("type")}
          />
        )}
        {!channel && asked && (
          <TextInput
            label={t(asked)}
            type={type === "email" ? "email" : "text"}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps("target")}
          />
        )}
        {!channel && type === "push" && <Text size="sm">{t("target.push")}</Text>}
        {!channel && type === "telegram" && (
          <TextInput
            label={t("field.token")}
            description={t("field.token_hint")}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps("token")}
          />
        )}
        <TextInput
          label={t("field.name")}
          placeholder={t("field.name_hint")}
          maxLength={100}
          {...form.getInputProps("name")}
        />
        <NativeSelect
          label={t("field.events")}
          data={(["up_down", "down", "up"] as const).map((value) => ({ value, label: t(`events.${value}`) }))}
          {...form.getInputProps("events")}
        />
        <Group grow align="flex-start">
          <NativeSelect
            label={t("field.delay")}
            data={times(delays, delay_s, t("at_once"))}
            {...form.getInputProps("delay_s")}
          />
          <NativeSelect
            label={t("field.reminder")}
            data={times(reminders, reminder_s, t("no_reminder"))}
            {...form.getInputProps("reminder_s")}
          />
        </Group>
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t(channel ? "save" : "channel.add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function CodeForm({ channel, onDone }: { channel: Channel; onDone: () => Promise<void> }) {
  const [code, setCode] = useState("");
  const [prove, { busy, error }] = useAction(async () => {
    await verifyChannel(channel.id, code.trim());
    await onDone();
  });
  const [again, { busy: sending, error: unsent }] = useAction(async () => {
    const { last_error_key: problem } = await testChannel(channel.id);
    if (problem === null) done(t("channel.sent", { name: channel.name }));
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (code.trim()) void prove();
      }}
    >
      <Stack>
        {channel.secret && (
          <Alert title={t("secret")} color="orange" variant="light">
            <Stack gap="xs" align="flex-start">
              <Text size="sm">{t("secret.text")}</Text>
              <Copy value={channel.secret} label={t("secret")} />
            </Stack>
          </Alert>
        )}
        <Text>{t("channel.code_text", { name: channel.name })}</Text>
        <TextInput
          label={t("field.code")}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoComplete="one-time-code"
          data-autofocus
        />
        <ErrorNote error={error ?? unsent} />
        <Group justify="space-between">
          <Button variant="default" loading={sending} onClick={() => void again()}>
            {t("channel.again")}
          </Button>
          <Button type="submit" loading={busy}>
            {t("channel.prove")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
