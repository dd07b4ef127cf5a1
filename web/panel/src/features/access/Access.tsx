import { Button, Code, Group, Modal, Stack, Switch, Text, Textarea, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconKey, IconTrash, IconUpload } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { megabytes } from "~/i18n/formats";
import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import {
  createFtp,
  createKey,
  deleteFtp,
  deleteKey,
  ftpAccounts,
  setShell,
  shell,
  sshKeys,
  type FtpAccount,
} from "./api";
import { t } from "./texts";
import { keyProblem, userProblem } from "./validate";

const tones: Record<FtpAccount["status"], Tone> = { pending: "busy", active: "good", failed: "bad", removing: "busy" };

export function Access({ service }: { service: number }) {
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Stack gap="xl">
        <Keys service={service} />
        <Server service={service} />
        <Ftp service={service} />
      </Stack>
    </>
  );
}

function Keys({ service }: { service: number }) {
  const query = useQuery(sshKeys(service));
  const queries = useQueryClient();
  const [adding, { open, close }] = useDisclosure();
  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service] });
  const add = (
    <Button size="sm" onClick={open}>
      {t("key.add")}
    </Button>
  );
  return (
    <section aria-labelledby="keys">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="keys">
          {t("keys")}
        </Title>
        {query.data && query.data.data.length > 0 && add}
      </Group>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconKey} title={t("keys.empty.title")} text={t("keys.empty.text")} action={add} />
          ) : (
            <DataTable
              caption={t("keys")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "name", label: t("column.name"), render: (row) => row.name || row.type },
                {
                  key: "fingerprint",
                  label: t("column.fingerprint"),
                  render: (row) => <Code>{row.fingerprint_sha256}</Code>,
                },
                {
                  key: "used",
                  label: t("column.used"),
                  render: (row) => (row.last_used_at ? <When time={row.last_used_at} form="relative" /> : t("never")),
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) => (
                    <Confirm
                      label={t("remove", { name: row.name || row.type })}
                      title={t("remove", { name: row.name || row.type })}
                      text={t("key.remove.text")}
                      action={async () => {
                        await deleteKey(service, row.id);
                        await fresh();
                        done(t("removed", { name: row.name || row.type }));
                      }}
                      icon={<IconTrash size={16} aria-hidden />}
                      size="compact-sm"
                      variant="subtle"
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <Modal opened={adding} onClose={close} title={t("key.add")}>
        <KeyForm
          service={service}
          onDone={async () => {
            close();
            await fresh();
            done(t("key.added"));
          }}
        />
      </Modal>
    </section>
  );
}

/** Where programs that bring a key connect to, and whether the keys open a shell there. */
function Server({ service }: { service: number }) {
  const query = useQuery(shell(service));
  const queries = useQueryClient();
  const [flip, { busy, error }] = useAction(async (enabled: boolean) => {
    await setShell(service, enabled);
    await queries.invalidateQueries({ queryKey: ["service", service, "shell"] });
    done(t(enabled ? "shell.on" : "shell.off"));
  });
  return (
    <section aria-labelledby="server">
      <Title order={2} size="h4" id="server" mb="sm">
        {t("server")}
      </Title>
      <Load query={query}>
        {({ enabled, host, port, username, fingerprint, status }) => (
          <Stack gap="xs">
            {host === null ? (
              <Text c="dimmed">{t("server.wait")}</Text>
            ) : (
              <>
                <Fact label={t("server.address")} value={port === null ? host : `${host}:${port}`} />
                {username !== null && <Fact label={t("server.user")} value={username} />}
                {fingerprint !== null && <Fact label={t("server.fingerprint")} value={fingerprint} />}
              </>
            )}
            {status === "failed" && <Status tone="bad" label={t("status.failed")} />}
            <Switch
              mt="xs"
              label={t("shell")}
              description={t("shell.text")}
              checked={enabled}
              disabled={busy}
              onChange={(event) => void flip(event.currentTarget.checked)}
            />
            <ErrorNote error={error} />
          </Stack>
        )}
      </Load>
    </section>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Copy value={value} label={label} />
    </div>
  );
}

function KeyForm({ service, onDone }: { service: number; onDone: () => Promise<void> }) {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { public_key: "", name: "" },
    validate: {
      public_key: (text) => {
        const problem = keyProblem(text);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async ({ public_key, name }) => {
    await createKey(service, { public_key: public_key.trim(), ...(name.trim() ? { name: name.trim() } : {}) });
    await onDone();
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Textarea
          label={t("field.public_key")}
          description={t("field.public_key_hint")}
          placeholder="ssh-ed25519 AAAA…"
          autosize
          minRows={3}
          spellCheck={false}
          autoComplete="off"
          data-autofocus
          key={form.key("public_key")}
          {...form.getInputProps("public_key")}
        />
        <TextInput
          label={t("field.name")}
          description={t("field.name_hint")}
          key={form.key("name")}
          {...form.getInputProps("name")}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("key.add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function Ftp({ service }: { service: number }) {
  const query = useQuery(ftpAccounts(service));
  const queries = useQueryClient();
  const [adding, { open, close }] = useDisclosure();
  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service] });
  const add = (
    <Button size="sm" onClick={open}>
      {t("ftp.add")}
    </Button>
  );
  return (
    <section aria-labelledby="ftp">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="ftp">
          {t("ftp")}
        </Title>
        {query.data && query.data.data.length > 0 && add}
      </Group>
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconUpload} title={t("ftp.empty.title")} text={t("ftp.empty.text")} action={add} />
          ) : (
            <DataTable
              caption={t("ftp")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "user", label: t("column.user"), render: (row) => <Code>{row.username}</Code> },
                { key: "home", label: t("column.home"), render: (row) => <Code>{row.home}</Code> },
                {
                  key: "host",
                  label: t("column.host"),
                  render: (row) => (row.host ? <Code>{`${row.host}:${row.port}`}</Code> : "–"),
                },
                {
                  key: "status",
                  label: t("column.status"),
                  render: (row) => <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />,
                },
                {
                  key: "size",
                  label: t("column.size"),
                  right: true,
                  render: (row) =>
                    megabytes(row.used_mb) + (row.quota_mb === null ? "" : ` / ${megabytes(row.quota_mb)}`),
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) => (
                    <Confirm
                      label={t("remove", { name: row.username })}
                      title={t("remove", { name: row.username })}
                      text={t("ftp.remove.text")}
                      action={async () => {
                        await deleteFtp(service, row.id);
                        await fresh();
                        done(t("removed", { name: row.username }));
                      }}
                      icon={<IconTrash size={16} aria-hidden />}
                      size="compact-sm"
                      variant="subtle"
                      disabled={row.status === "removing"}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <Text size="sm" c="dimmed" mt="md">
        {t("password")}{" "}
        <AnchorLink to="/services/$service/passwords" params={{ service: String(service) }}>
          {t("password.link")}
        </AnchorLink>
      </Text>
      <Modal opened={adding} onClose={close} title={t("ftp.add")}>
        <FtpForm
          service={service}
          onDone={async () => {
            close();
            await fresh();
            done(t("ftp.added"));
          }}
        />
      </Modal>
    </section>
  );
}

function FtpForm({ service, onDone }: { service: number; onDone: () => Promise<void> }) {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { username: "", home: "/public_html", readonly: false },
    validate: {
      username: (name) => {
        const problem = userProblem(name);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async ({ username, home, readonly }) => {
    await createFtp(service, { username: username.trim(), readonly, ...(home.trim() ? { home: home.trim() } : {}) });
    await onDone();
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("field.username")}
          description={t("field.username_hint")}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          key={form.key("username")}
          {...form.getInputProps("username")}
        />
        <TextInput
          label={t("field.home")}
          description={t("field.home_hint")}
          spellCheck={false}
          key={form.key("home")}
          {...form.getInputProps("home")}
        />
        <Switch
          label={t("field.readonly")}
          key={form.key("readonly")}
          {...form.getInputProps("readonly", { type: "checkbox" })}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("ftp.add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
