import { Button, Code, Group, Modal } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconApps } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { AnchorLink } from "~/ui/AnchorLink";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { applications, createApplication } from "./api";
import { ApplicationForm } from "./ApplicationForm";
import { SecretDialog, type Shown } from "./SecretDialog";
import { t } from "./texts";

/** The OAuth applications that an integrator has registered. */
export function Applications({ page, onPage }: { page: number; onPage: (page: number) => void }) {
  const query = useQuery(applications(page));
  const queries = useQueryClient();
  const [opened, { open, close }] = useDisclosure();
  const [made, setMade] = useState<Shown | null>(null);
  const add = <Button onClick={open}>{t("applications.new")}</Button>;
  return (
    <>
      <PageHeader title={t("applications.title")} description={t("applications.description")} actions={add} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconApps} title={t("applications.empty")} text={t("applications.empty.text")} action={add} />
          ) : (
            <>
              <DataTable
                caption={t("applications.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "name",
                    label: t("application.name"),
                    render: (row) => (
                      <Group gap="xs">
                        <AnchorLink to="/account/applications/$application" params={{ application: String(row.id) }}>
                          {row.name}
                        </AnchorLink>
                        {row.sandbox && <Status tone="neutral" label={t("application.sandbox.badge")} />}
                        {row.disabled && <Status tone="bad" label={t("application.disabled")} />}
                      </Group>
                    ),
                  },
                  { key: "type", label: t("application.type"), render: (row) => t(`application.type.${row.type}`) },
                  { key: "client", label: t("application.client_id"), render: (row) => <Code>{row.client_id}</Code> },
                  {
                    key: "created",
                    label: t("application.created"),
                    render: (row) => <When time={row.created_at} form="day" />,
                  },
                ]}
              />
              <Pager meta={meta} onChange={onPage} />
            </>
          )
        }
      </Load>
      <Modal opened={opened} onClose={close} title={t("applications.new")} size="lg">
        <ApplicationForm
          label={t("application.create")}
          onSubmit={async ({ type, ...values }) => {
            const created = await createApplication({ ...values, type });
            close();
            await queries.invalidateQueries({ queryKey: ["applications"] });
            setMade(created);
          }}
        />
      </Modal>
      <SecretDialog shown={made} onClose={() => setMade(null)} />
    </>
  );
}
