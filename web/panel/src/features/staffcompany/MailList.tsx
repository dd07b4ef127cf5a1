import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { StaffLink } from "~/ui/staff/StaffLink";

import { mails } from "./api";
import { t } from "./texts";

/** All kinds of mails that customers get. */
export function MailList() {
  const query = useQuery(mails);
  return (
    <>
      <PageHeader title={t("mails.title")} description={t("mails.description")} />
      <Load query={query}>
        {({ data }) => (
          <DataTable
            caption={t("mails.title")}
            rows={data}
            rowKey={(row) => row.kind}
            columns={[
              {
                key: "subject",
                label: t("mails.subject"),
                render: (row) => <StaffLink to={`mails/${row.kind}`}>{row.subject}</StaffLink>,
              },
              { key: "kind", label: t("mails.kind"), render: (row) => <code>{row.kind}</code> },
              {
                key: "changed",
                label: t("mails.changed"),
                render: (row) => row.changed.join(", ") || <Text c="dimmed">–</Text>,
              },
            ]}
          />
        )}
      </Load>
    </>
  );
}
