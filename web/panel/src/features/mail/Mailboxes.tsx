import { ActionIcon, Alert, Button, Modal, Progress, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDeviceMobile, IconMail, IconPlus, IconSettings, IconTrash } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { megabytes } from "~/i18n/formats";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status, type Tone } from "~/ui/Status";

import { deleteMailbox, mailboxes, type Mailbox } from "./api";
import { Connect } from "./Connect";
import { MailboxForm } from "./MailboxForm";
import { NewMailboxForm } from "./NewMailboxForm";
import { t } from "./texts";

const tones: Record<Mailbox["status"], Tone> = {
  pending: "busy",
  active: "good",
  suspended: "warn",
  disabled: "warn",
  failed: "bad",
  removing: "busy",
};

const checks = ["mx", "spf", "dkim", "dmarc", "ptr"] as const;

/** What of a mailbox's domain is not as it should be in the DNS. */
const wrongInDns = (box: Mailbox) =>
  box.dns ? checks.filter((check) => box.dns && !box.dns[check].ok && box.dns[check].found !== null) : [];

export function Mailboxes({
  service,
  page,
  onPage,
}: {
  service: number;
  page: number;
  onPage: (page: number) => void;
}) {
  const query = useQuery(mailboxes(service, page));
  const queries = useQueryClient();
  const [adding, addDialog] = useDisclosure();
  const [chosen, setChosen] = useState<{ id: number; part: "settings" | "connect" } | null>(null);
  // A new mailbox may stand on another page of the list than the one that is shown.
  const [made, setMade] = useState<{ box: Mailbox; password: string } | null>(null);
  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service] });
  const shut = () => {
    setChosen(null);
    setMade(null);
  };
  const remove = async (row: Mailbox) => {
    await deleteMailbox(service, row.id);
    await fresh();
    done(t("removed", { address: row.address }));
  };
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={addDialog.open}>
      {t("add")}
    </Button>
  );
  const open = [...(query.data?.data ?? []), ...(made ? [made.box] : [])].find((row) => row.id === chosen?.id);
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconMail} title={t("empty.title")} text={t("empty.text")} action={add} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "address",
                    label: t("column.address"),
                    render: (row) => (
                      <Stack gap={2}>
                        <span>{row.address}</span>
                        {row.forward_to.length > 0 && (
                          <Text size="xs" c="dimmed">
                            → {row.forward_to.join(", ")}
                          </Text>
                        )}
                        {row.catch_all && (
                          <Text size="xs" c="dimmed">
                            {t("catch_all.short")}
                          </Text>
                        )}
                      </Stack>
                    ),
                  },
                  {
                    key: "status",
                    label: t("column.status"),
                    render: (row) => (
                      <Stack gap={4} align="flex-start">
                        <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />
                        {row.autoresponder.enabled && <Status tone="neutral" label={t("away.short")} />}
                      </Stack>
                    ),
                  },
                  {
                    key: "size",
                    label: t("column.size"),
                    right: true,
                    render: (row) => (
                      <Stack gap={4} miw={120}>
                        <span>
                          {megabytes(row.used_mb)} / {megabytes(row.quota_mb)}
                        </span>
                        <Progress
                          value={Math.min(100, (row.used_mb / row.quota_mb) * 100)}
                          color={row.used_mb > row.quota_mb * 0.9 ? "red" : "brand"}
                          size="sm"
                          aria-label={t("size.label", { address: row.address })}
                        />
                      </Stack>
                    ),
                  },
                  {
                    key: "dns",
                    label: t("column.dns"),
                    render: (row) =>
                      row.dns === null ? (
                        "–"
                      ) : wrongInDns(row).length === 0 ? (
                        <Status tone="good" label={t("dns.good")} />
                      ) : (
                        <Status
                          tone="warn"
                          label={wrongInDns(row)
                            .map((check) => check.toUpperCase())
                            .join(", ")}
                        />
                      ),
                  },
                  {
                    key: "actions",
                    label: t("column.actions"),
                    actions: true,
                    render: (row) => (
                      <>
                        <ActionIcon
                          variant="subtle"
                          aria-label={t("connect", { address: row.address })}
                          onClick={() => setChosen({ id: row.id, part: "connect" })}
                        >
                          <IconDeviceMobile size={16} aria-hidden />
                        </ActionIcon>
                        <ActionIcon
                          variant="subtle"
                          aria-label={t("settings", { address: row.address })}
                          onClick={() => setChosen({ id: row.id, part: "settings" })}
                        >
                          <IconSettings size={16} aria-hidden />
                        </ActionIcon>
                        <Confirm
                          label={t("remove", { address: row.address })}
                          title={t("remove", { address: row.address })}
                          text={t("remove.text", { count: row.messages })}
                          word={row.address}
                          action={() => remove(row)}
                          icon={<IconTrash size={16} aria-hidden />}
                          size="compact-sm"
                          variant="subtle"
                          disabled={row.status === "removing"}
                        />
                      </>
                    ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={onPage} />
            </>
          )
        }
      </Load>
      <Modal opened={adding} onClose={addDialog.close} title={t("add")}>
        <NewMailboxForm
          service={service}
          onDone={async (row, password) => {
            addDialog.close();
            await fresh();
            setMade({ box: row, password });
            setChosen({ id: row.id, part: "connect" });
          }}
        />
      </Modal>
      <Modal opened={open !== undefined} onClose={shut} title={open?.address} size="lg">
        {open && open.status === "failed" && <Alert color="red" variant="light" title={t("failed")} mb="md" />}
        {open && chosen?.part === "connect" && (
          <Connect box={open} service={service} password={made?.box.id === open.id ? made.password : undefined} />
        )}
        {open && chosen?.part === "settings" && (
          <MailboxForm
            key={open.id}
            service={service}
            box={open}
            onDone={async (password) => {
              await fresh();
              done(t("saved"));
              if (password) {
                setMade({ box: open, password });
                setChosen({ id: open.id, part: "connect" });
              } else shut();
            }}
          />
        )}
      </Modal>
    </>
  );
}
