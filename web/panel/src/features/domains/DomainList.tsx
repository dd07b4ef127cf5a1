import { Button } from "@mantine/core";
import { IconWorld } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { AnchorLink } from "~/ui/AnchorLink";
import { money } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { When } from "~/ui/When";

import { domains } from "./api";
import { DomainStatus } from "./status";
import { t } from "./texts";

export function DomainList({ page, onPage }: { page: number; onPage: (page: number) => void }) {
  const query = useQuery(domains(page));
  const action = (
    <Button component={Link} to="/domains/new">
      {t("new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={action} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconWorld} title={t("empty")} text={t("empty.text")} action={action} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "name",
                    label: t("column.name"),
                    render: (row) => (
                      <AnchorLink to="/domains/$domain" params={{ domain: String(row.id) }}>
                        {row.unicode_name}
                      </AnchorLink>
                    ),
                  },
                  { key: "status", label: t("column.status"), render: (row) => <DomainStatus status={row.status} /> },
                  {
                    key: "expires",
                    label: t("column.expires"),
                    render: (row) => (row.expires_at ? <When time={row.expires_at} form="day" /> : "–"),
                  },
                  {
                    key: "renewal",
                    label: t("column.renewal"),
                    render: (row) => t(row.auto_renew ? "auto.on" : "auto.off"),
                  },
                  {
                    key: "price",
                    label: t("column.price"),
                    right: true,
                    render: (row) => (row.renew_price ? money(row.renew_price) : "–"),
                  },
                ]}
              />
              <Pager meta={meta} onChange={onPage} />
            </>
          )
        }
      </Load>
    </>
  );
}
