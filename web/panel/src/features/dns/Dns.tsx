import {
  ActionIcon,
  Anchor,
  Button,
  Code,
  Group,
  Menu,
  Modal,
  NativeSelect,
  Paper,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  IconDownload,
  IconDots,
  IconLock,
  IconMail,
  IconPencil,
  IconPlus,
  IconTrash,
  IconUpload,
  IconWorldSearch,
} from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";

import { addressOf } from "~/api/client";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done, failed } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status } from "~/ui/Status";
import { undoable } from "~/ui/undoable";

import { createRecord, deleteRecord, dnsRecords, useRecordChange, zoneOf, zonesOf, type DnsRecord } from "./api";
import { ImportForm } from "./ImportForm";
import { RecordForm } from "./RecordForm";
import { TemplateForm } from "./TemplateForm";
import { t } from "./texts";
import { bodyOf, draftOf, newDraft, types, type Draft } from "./validate";

/** An open form: what it began with, and as of when. */
interface Editing {
  initial: Draft;
  updatedAt: string;
  error?: unknown;
  /** Another one is another attempt, whose form begins anew. */
  attempt: number;
}

export interface Filter {
  q?: string;
  type?: string;
  /** Another zone than that of the primary domain. */
  zone?: string;
}

const matches = (record: DnsRecord, { q, type }: Filter) =>
  (!type || record.type === type) &&
  (!q || `${record.name} ${record.value}`.toLowerCase().includes(q.trim().toLowerCase()));

/** What stands before the value in a zone file, such as the priority. */
const before = (record: DnsRecord) =>
  [record.priority, record.weight, record.port, record.flags, record.tag].filter((part) => part !== null).join(" ");

export function Dns({
  service,
  filter,
  onFilter,
}: {
  service: number;
  filter: Filter;
  onFilter: (filter: Filter) => void;
}) {
  const query = useQuery(dnsRecords(service, filter.zone));
  const zone = useQuery(zoneOf(service)).data;
  const zones = useQuery(zonesOf(service)).data ?? [];
  const queries = useQueryClient();
  const change = useRecordChange(service, filter.zone);
  const [editing, setEditing] = useState<Record<number, Editing>>({});
  const [adding, setAdding] = useState<{ error?: unknown } | null>(null);
  const [importing, importDialog] = useDisclosure();
  const [choosing, templateDialog] = useDisclosure();
  const addButton = useRef<HTMLButtonElement>(null);
  const page = useRef<HTMLDivElement>(null);
  const name = filter.zone ?? zone?.domain ?? "";
  const shownName = filter.zone
    ? (zones.find((other) => other.name === filter.zone)?.unicode_name ?? filter.zone)
    : (zone?.unicode_domain ?? name);

  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service, "dns"] });
  const focusEdit = (id: number) =>
    setTimeout(() => page.current?.querySelector<HTMLElement>(`[data-edit="${id}"]`)?.focus());
  const open = (record: DnsRecord) =>
    setEditing((all) => ({
      ...all,
      [record.id]: { initial: draftOf(record), updatedAt: record.updated_at, attempt: 0 },
    }));
  const close = (id: number) => {
    setEditing((all) => Object.fromEntries(Object.entries(all).filter(([other]) => Number(other) !== id)));
    focusEdit(id);
  };
  const save = (record: DnsRecord, draft: Draft, form: Editing) => {
    close(record.id);
    change.mutateAsync({ id: record.id, change: bodyOf(draft) }).catch((error: unknown) =>
      setEditing((all) => ({
        ...all,
        [record.id]: { initial: draft, updatedAt: form.updatedAt, error, attempt: form.attempt + 1 },
      })),
    );
  };
  const add = async (draft: Draft) => {
    try {
      const record = await createRecord(service, filter.zone, { type: draft.type, ...bodyOf(draft) });
      setAdding(null);
      await fresh();
      done(t("added", { name: record.name, type: record.type }));
      addButton.current?.focus();
    } catch (error) {
      setAdding({ error });
    }
  };
  const remove = async (record: DnsRecord) => {
    try {
      await deleteRecord(service, record.id);
      await fresh();
      undoable(t("removed", { name: record.name, type: record.type }), async () => {
        await createRecord(service, filter.zone, {
          type: record.type,
          disabled: record.disabled,
          ...bodyOf(draftOf(record)),
        });
        await fresh();
        done(t("added", { name: record.name, type: record.type }));
      });
    } catch (error) {
      failed(error);
    }
  };
  const toggle = (record: DnsRecord) =>
    change.mutateAsync({ id: record.id, change: { disabled: !record.disabled } }).catch(failed);

  return (
    <div ref={page}>
      <PageHeader
        title={t("title")}
        description={t("description", { zone: shownName })}
        actions={
          <>
            <Button ref={addButton} leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setAdding({})}>
              {t("add")}
            </Button>
            <Menu position="bottom-end">
              <Menu.Target>
                <ActionIcon variant="default" size="lg" aria-label={t("more")}>
                  <IconDots size={18} aria-hidden />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                <Menu.Item leftSection={<IconMail size={16} aria-hidden />} onClick={templateDialog.open}>
                  {t("template")}
                </Menu.Item>
                <Menu.Item leftSection={<IconUpload size={16} aria-hidden />} onClick={importDialog.open}>
                  {t("import")}
                </Menu.Item>
                <Menu.Item
                  leftSection={<IconDownload size={16} aria-hidden />}
                  component="a"
                  href={addressOf(`/api/v1/services/${service}/dns`, { format: "bind", zone: name })}
                  download
                >
                  {t("export")}
                </Menu.Item>
              </Menu.Dropdown>
            </Menu>
          </>
        }
      />
      {zones.length > 1 && (
        <NativeSelect
          mb="md"
          label={t("zone")}
          value={name}
          data={zones.map((other) => ({ value: other.name, label: other.unicode_name }))}
          onChange={(event) => {
            const chosen = event.currentTarget.value;
            onFilter({ zone: chosen === zone?.domain ? undefined : chosen });
          }}
        />
      )}
      <Load query={query}>
        {(records) => {
          const shown = records.filter((record) => matches(record, filter) || record.id in editing);
          return (
            <Stack>
              {adding && (
                <Paper withBorder p="sm">
                  <RecordForm
                    isNew
                    label={t("add")}
                    initial={newDraft()}
                    zone={name}
                    error={adding.error}
                    onSave={add}
                    onCancel={() => {
                      setAdding(null);
                      addButton.current?.focus();
                    }}
                  />
                </Paper>
              )}
              <Group gap="sm">
                <TextInput
                  type="search"
                  aria-label={t("search")}
                  placeholder={t("search")}
                  leftSection={<IconWorldSearch size={16} aria-hidden />}
                  value={filter.q ?? ""}
                  onChange={(event) => onFilter({ ...filter, q: event.currentTarget.value || undefined })}
                  flex="1 1 12rem"
                />
                <NativeSelect
                  aria-label={t("field.type")}
                  value={filter.type ?? ""}
                  data={[{ value: "", label: t("all_types") }, ...types]}
                  onChange={(event) => onFilter({ ...filter, type: event.currentTarget.value || undefined })}
                />
              </Group>
              {shown.length === 0 ? (
                <Empty
                  icon={IconWorldSearch}
                  title={t("empty.title")}
                  text={t("empty.text")}
                  action={
                    <Button variant="light" onClick={() => onFilter({ zone: filter.zone })}>
                      {t("empty.all")}
                    </Button>
                  }
                />
              ) : (
                <DataTable
                  caption={t("title")}
                  rows={shown}
                  rowKey={(row) => row.id}
                  instead={(row) => {
                    const form = editing[row.id];
                    if (!form) return null;
                    return (
                      <RecordForm
                        key={form.attempt}
                        label={t("edit", { name: row.name, type: row.type })}
                        initial={form.initial}
                        zone={name}
                        error={form.error}
                        theirs={row.updated_at === form.updatedAt ? null : draftOf(row)}
                        onSave={(draft) => save(row, draft, form)}
                        onCancel={() => close(row.id)}
                        onKeepMine={() =>
                          setEditing((all) => ({ ...all, [row.id]: { ...form, updatedAt: row.updated_at } }))
                        }
                      />
                    );
                  }}
                  columns={[
                    { key: "name", label: t("field.name"), render: (row) => <Code>{row.name}</Code> },
                    { key: "type", label: t("field.type"), render: (row) => row.type },
                    {
                      key: "value",
                      label: t("field.value"),
                      render: (row) => (
                        <Stack gap={2}>
                          <Group gap={6}>
                            {before(row) && <Text size="sm">{before(row)}</Text>}
                            <Copy value={row.value} label={`${row.name} ${row.type}`} />
                            {row.disabled && <Status tone="neutral" label={t("off")} />}
                          </Group>
                          {row.alias && (
                            <Text size="xs" c="dimmed">
                              {t(`alias.${row.alias.status}`, { addresses: row.alias.addresses.join(", ") })}
                            </Text>
                          )}
                          {row.system && row.disabled && (
                            <Text size="xs" c="dimmed">
                              {t("displaced")}
                            </Text>
                          )}
                          {row.managed_by && <Kept by={row.managed_by} service={service} />}
                        </Stack>
                      ),
                    },
                    { key: "ttl", label: t("field.ttl"), right: true, render: (row) => row.ttl },
                    {
                      key: "actions",
                      label: t("actions"),
                      actions: true,
                      render: (row) =>
                        row.managed_by ? null : (
                          <>
                            {!(row.system && row.disabled) && (
                              <Button size="compact-sm" variant="subtle" color="gray" onClick={() => void toggle(row)}>
                                {t(row.disabled ? "switch_on" : "switch_off")}
                                <span className="visually-hidden">
                                  {" "}
                                  {row.name} {row.type}
                                </span>
                              </Button>
                            )}
                            <ActionIcon
                              variant="subtle"
                              data-edit={row.id}
                              aria-label={t("edit", { name: row.name, type: row.type })}
                              onClick={() => open(row)}
                            >
                              <IconPencil size={16} aria-hidden />
                            </ActionIcon>
                            <ActionIcon
                              variant="subtle"
                              color="red"
                              aria-label={t("remove", { name: row.name, type: row.type })}
                              onClick={() => void remove(row)}
                            >
                              <IconTrash size={16} aria-hidden />
                            </ActionIcon>
                          </>
                        ),
                    },
                  ]}
                />
              )}
              {zone && zone.nameservers.length > 0 && (
                <Text size="sm" c="dimmed" component="div">
                  {t("nameservers")}{" "}
                  {zone.nameservers.map((server) => (
                    <Copy key={server} value={server} />
                  ))}
                </Text>
              )}
            </Stack>
          );
        }}
      </Load>
      <Modal opened={importing} onClose={importDialog.close} title={t("import")} size="lg">
        <ImportForm
          service={service}
          zone={filter.zone}
          onDone={async (count) => {
            importDialog.close();
            await fresh();
            done(t("imported", { count }));
          }}
        />
      </Modal>
      <Modal opened={choosing} onClose={templateDialog.close} title={t("template")} size="lg">
        <TemplateForm
          service={service}
          zone={name}
          records={query.data ?? []}
          onDone={async (count) => {
            templateDialog.close();
            await fresh();
            done(t("imported", { count }));
          }}
        />
      </Modal>
    </div>
  );
}

/** Why a record of the platform is fixed, and where it is changed. */
function Kept({ by, service }: { by: NonNullable<DnsRecord["managed_by"]>; service: number }) {
  return (
    <Text size="xs" c="dimmed">
      <IconLock size={12} aria-hidden /> {t(`kept.${by}`)}{" "}
      {by !== "nameservers" && (
        <Anchor size="xs" component={Link} to={`/services/${service}/${by}`}>
          {t(`kept.${by}.link`)}
        </Anchor>
      )}
    </Text>
  );
}
