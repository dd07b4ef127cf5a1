import { Button } from "@mantine/core";
import { IconServer } from "@tabler/icons-react";
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

import { services } from "./api";
import { ServiceStatus } from "./status";
import { t } from "./texts";

export function ServiceList({ page, onPage }: { page: number; onPage: (page: number) => void }) {
  const query = useQuery(services(page));
  return (
    <>
      <PageHeader
        title={t("title")}
        actions={
          <Button component={Link} to="/order">
            {t("order")}
          </Button>
        }
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconServer} title={t("empty.title")} text={t("empty.text")} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "label",
                    label: t("column.service"),
                    render: (row) => (
                      <AnchorLink to="/services/$service" params={{ service: String(row.id) }}>
                        {row.unicode_domain ?? row.label}
                      </AnchorLink>
                    ),
                  },
                  { key: "plan", label: t("column.plan"), render: (row) => row.plan.name },
                  { key: "status", label: t("column.status"), render: (row) => <ServiceStatus status={row.status} /> },
                  {
                    key: "expires",
                    label: t("column.paid_until"),
                    render: (row) => (row.expires_at ? <When time={row.expires_at} form="day" /> : "–"),
                  },
                  {
                    key: "price",
                    label: t("column.renewal"),
                    right: true,
                    render: (row) => money(row.renew_price),
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
