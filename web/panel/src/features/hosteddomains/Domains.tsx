import { ActionIcon, Anchor, Button, Code, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus, IconSettings, IconTrash, IconWorld } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Status, type Tone } from "~/ui/Status";

import { deleteDomain, domains, type HostedDomain } from "./api";
import { DomainForm } from "./DomainForm";
import { DomainSettings } from "./DomainSettings";
import { t } from "./texts";

const tones: Record<HostedDomain["status"], Tone> = {
  pending: "busy",
  active: "good",
  failed: "bad",
  removing: "busy",
};
const pointing: Record<HostedDomain["dns"]["status"], Tone> = {
  pointed: "good",
  not_pointed: "warn",
  unknown: "neutral",
};
const encrypted: Record<string, Tone> = { active: "good", self_signed: "warn", expired: "bad" };

const isProven = (domain: HostedDomain) =>
  ["not_required", "verified", "dns_leads_here"].includes(domain.verification.state);

export function Domains({ service }: { service: number }) {
  const query = useQuery(domains(service));
  const queries = useQueryClient();
  const [adding, addDialog] = useDisclosure();
  const [chosen, setChosen] = useState<number | null>(null);
  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service] });
  const remove = async (row: HostedDomain) => {
    await deleteDomain(service, row.id);
    await fresh();
    done(t("removed", { name: row.unicode_name }));
  };
  const add = (
    <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={addDialog.open}>
      {t("add")}
    </Button>
  );
  const open = query.data?.find((row) => row.id === chosen);
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      <Load query={query}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty icon={IconWorld} title={t("empty.title")} text={t("empty.text")} action={add} />
          ) : (
            <DataTable
              caption={t("title")}
              rows={rows}
              rowKey={(row) => row.id}
              columns={[
                {
                  key: "name",
                  label: t("column.name"),
                  render: (row) => (
                    <Stack gap={2}>
                      <Anchor href={`http://${row.name}/`} target="_blank" rel="noreferrer">
                        {row.unicode_name}
                      </Anchor>
                      <Text size="xs" c="dimmed">
                        {t(`kind.${row.kind}`)}
                      </Text>
                    </Stack>
                  ),
                },
                {
                  key: "target",
                  label: t("column.target"),
                  render: (row) =>
                    row.redirect_to ? (
                      <Text size="sm">→ {row.redirect_to}</Text>
                    ) : row.document_root ? (
                      <Code>{row.document_root}</Code>
                    ) : (
                      <Text size="sm">{t("target.primary")}</Text>
                    ),
                },
                {
                  key: "status",
                  label: t("column.status"),
                  render: (row) => <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />,
                },
                {
                  key: "dns",
                  label: t("column.dns"),
                  render: (row) => (
                    <Stack gap={4} align="flex-start">
                      <Status tone={pointing[row.dns.status]} label={t(`dns.${row.dns.status}`)} />
                      {!isProven(row) && <Status tone="bad" label={t("unproven")} />}
                      {(row.dns.status === "not_pointed" || !isProven(row)) && (
                        <Button size="compact-xs" variant="light" onClick={() => setChosen(row.id)}>
                          {t("dns.what")}
                          <span className="visually-hidden"> {row.unicode_name}</span>
                        </Button>
                      )}
                    </Stack>
                  ),
                },
                {
                  key: "https",
                  label: "HTTPS",
                  render: (row) => (
                    <Status
                      tone={encrypted[row.tls.status] ?? "neutral"}
                      label={
                        row.force_https
                          ? t("tls.forced")
                          : row.tls.status in encrypted
                            ? t(`tls.${row.tls.status as "active"}`)
                            : t("tls.none")
                      }
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
                        aria-label={t("settings", { name: row.unicode_name })}
                        onClick={() => setChosen(row.id)}
                      >
                        <IconSettings size={16} aria-hidden />
                      </ActionIcon>
                      {!row.primary && (
                        <Confirm
                          label={t("remove", { name: row.unicode_name })}
                          title={t("remove", { name: row.unicode_name })}
                          text={t("remove.text")}
                          action={() => remove(row)}
                          icon={<IconTrash size={16} aria-hidden />}
                          size="compact-sm"
                          variant="subtle"
                          disabled={row.status === "removing"}
                        />
                      )}
                    </>
                  ),
                },
              ]}
            />
          )
        }
      </Load>
      <Modal opened={adding} onClose={addDialog.close} title={t("add")} size="lg">
        <DomainForm
          service={service}
          own={query.data?.map((row) => row.name) ?? []}
          onDone={async (row) => {
            addDialog.close();
            await fresh();
            setChosen(row.id);
          }}
        />
      </Modal>
      <Modal
        opened={open !== undefined}
        onClose={() => setChosen(null)}
        title={open && <Group gap="xs">{open.unicode_name}</Group>}
        size="lg"
      >
        {open && (
          <DomainSettings
            key={open.id}
            service={service}
            domain={open}
            onChange={fresh}
            onDone={async () => {
              setChosen(null);
              await fresh();
            }}
          />
        )}
      </Modal>
    </>
  );
}
