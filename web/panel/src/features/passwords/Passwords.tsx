import { Button, Code, Group } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useAction } from "~/ui/action";
import { AnchorLink } from "~/ui/AnchorLink";
import { Confirm } from "~/ui/Confirm";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { ErrorNote } from "~/ui/ErrorNote";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { SecretDialog } from "~/ui/SecretDialog";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { passwords, reset, reveal, type Password, type Shown } from "./api";
import { t } from "./texts";

/** The passwords that the server has made for databases and FTP accounts. Each is shown once; then there is a new one. */
export function Passwords({ service }: { service: number }) {
  const [page, setPage] = useState(1);
  const query = useQuery(passwords(service, page));
  const queries = useQueryClient();
  const [shown, setShown] = useState<Shown | null>(null);
  const fresh = () => queries.invalidateQueries({ queryKey: ["service", service, "passwords"] });
  const [show, { busy, error }] = useAction(async (row: Password) => {
    try {
      setShown(await reveal(service, row.id));
    } finally {
      await fresh(); // somebody else may have been shown it
    }
  });
  const replace = async (row: Password) => {
    await reset(service, row.id);
    await show(row);
  };
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <ErrorNote error={error} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty
              icon={IconKey}
              title={t("empty.title")}
              text={t("empty.text")}
              action={
                <Group justify="center">
                  <AnchorLink to="/services/$service/databases" params={{ service: String(service) }}>
                    {t("empty.databases")}
                  </AnchorLink>
                  <AnchorLink to="/services/$service/access" params={{ service: String(service) }}>
                    {t("empty.access")}
                  </AnchorLink>
                </Group>
              }
            />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "username", label: t("username"), render: (row) => <Code>{row.username}</Code> },
                  { key: "kind", label: t("kind"), render: (row) => t(`kind.${row.kind}`) },
                  { key: "place", label: t("place"), render: (row) => (row.place ? <Code>{row.place}</Code> : "–") },
                  {
                    key: "shown",
                    label: t("state"),
                    render: (row) =>
                      row.shown_at ? (
                        <>
                          {t("shown")} <When time={row.shown_at} form="relative" />
                        </>
                      ) : (
                        <Status tone="warn" label={t("waiting")} />
                      ),
                  },
                  {
                    key: "actions",
                    label: t("actions"),
                    actions: true,
                    render: (row) =>
                      row.shown_at ? (
                        <Confirm
                          label={t("reset")}
                          aria-label={t("reset.of", { name: row.username })}
                          title={t("reset.of", { name: row.username })}
                          text={t("reset.text")}
                          action={() => replace(row)}
                          size="compact-sm"
                        />
                      ) : (
                        <Button
                          size="compact-sm"
                          loading={busy}
                          onClick={() => void show(row)}
                          aria-label={t("reveal.of", { name: row.username })}
                        >
                          {t("reveal")}
                        </Button>
                      ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={setPage} />
            </>
          )
        }
      </Load>
      {shown && (
        <SecretDialog
          title={t("dialog")}
          parts={[
            { label: t("username"), value: shown.username },
            ...(shown.place ? [{ label: t("place"), value: shown.place }] : []),
          ]}
          secret={{ label: t("password"), value: shown.password, text: t("once") }}
          onClose={() => setShown(null)}
        />
      )}
    </>
  );
}
