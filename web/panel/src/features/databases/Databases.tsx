import { Button, Code, Group, Modal, Progress, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { IconDatabase, IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { megabytes } from "~/i18n/formats";
import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status, type Tone } from "~/ui/Status";

import { createDatabase, databases, deleteDatabase, type Database, type NewDatabase } from "./api";
import { Open } from "./Open";
import { filled } from "./opening";
import { t } from "./texts";
import { nameProblem } from "./validate";

const tones: Record<Database["status"], Tone> = {
  creating: "busy",
  active: "good",
  suspended: "warn",
  failed: "bad",
  removing: "busy",
};

export function Databases({ service }: { service: number }) {
  const query = useQuery(databases(service));
  const queries = useQueryClient();
  const [opened, { open, close }] = useDisclosure();
  const changed = () => queries.invalidateQueries({ queryKey: ["service", service] });
  const remove = async (row: Database) => {
    await deleteDatabase(service, row.id);
    await changed();
    done(t("deleted", { name: row.name }));
  };
  const add = <Button onClick={open}>{t("add")}</Button>;
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconDatabase} title={t("empty.title")} text={t("empty.text")} action={add} />
          ) : (
            <DataTable
              caption={t("title")}
              rows={data}
              rowKey={(row) => row.id}
              columns={[
                { key: "name", label: t("column.name"), render: (row) => <Code>{row.name}</Code> },
                {
                  key: "engine",
                  label: t("column.engine"),
                  render: (row) => `${t(`engine.${row.engine}`)} ${row.version ?? ""}`,
                },
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
                  render: (row) => <Size row={row} />,
                },
                {
                  key: "actions",
                  label: t("column.actions"),
                  actions: true,
                  render: (row) => (
                    <Group gap="xs" justify="flex-end" wrap="nowrap">
                      {row.can_open && <Open service={service} row={row} />}
                      <Confirm
                        label={t("delete", { name: row.name })}
                        title={t("delete", { name: row.name })}
                        text={t("delete.text")}
                        word={row.name}
                        action={() => remove(row)}
                        icon={<IconTrash size={16} aria-hidden />}
                        size="compact-sm"
                        disabled={row.status === "removing"}
                      />
                    </Group>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      {query.data?.data.some((row) => row.status === "active" && !row.can_open) && (
        <Text size="sm" c="dimmed" mt="md">
          {t("open.none")}
        </Text>
      )}
      <Text size="sm" c="dimmed" mt="md">
        {t("password")}{" "}
        <AnchorLink to="/services/$service/passwords" params={{ service: String(service) }}>
          {t("password.link")}
        </AnchorLink>
      </Text>
      <Modal opened={opened} onClose={close} title={t("add")}>
        <NewDatabaseForm
          service={service}
          onDone={async (row) => {
            close();
            await changed();
            done(t("created", { name: row.name }));
          }}
        />
      </Modal>
    </>
  );
}

function Size({ row }: { row: Database }) {
  if (row.size_mb === null) return "–";
  const percent = filled(row.size_mb, row.max_size_mb);
  if (percent === null || row.max_size_mb === null) return megabytes(row.size_mb);
  return (
    <Stack gap={4}>
      <span>
        {megabytes(row.size_mb)} / {megabytes(row.max_size_mb)}
      </span>
      <Progress
        value={percent}
        color={percent >= 90 ? "red" : percent >= 75 ? "orange" : "brand"}
        size="sm"
        aria-label={t("size.label", { name: row.name })}
      />
    </Stack>
  );
}

function NewDatabaseForm({ service, onDone }: { service: number; onDone: (row: Database) => Promise<void> }) {
  const form = useForm<NewDatabase>({
    mode: "uncontrolled",
    initialValues: { name: "", engine: "mariadb" },
    validate: {
      name: (name) => {
        const problem = nameProblem(name);
        return problem && t(problem);
      },
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    await onDone(await createDatabase(service, values));
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label={t("field.name")}
          description={t("field.name_hint")}
          autoComplete="off"
          spellCheck={false}
          data-autofocus
          key={form.key("name")}
          {...form.getInputProps("name")}
        />
        <Select
          label={t("field.engine")}
          allowDeselect={false}
          data={[
            { value: "mariadb", label: t("engine.mariadb") },
            { value: "postgresql", label: t("engine.postgresql") },
          ]}
          key={form.key("engine")}
          {...form.getInputProps("engine")}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button type="submit" loading={form.submitting}>
            {t("add")}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
