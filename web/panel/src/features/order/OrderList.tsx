import { Button, NativeSelect } from "@mantine/core";
import { IconShoppingCart } from "@tabler/icons-react";
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

import { orders, type Order } from "./api";
import { statuses } from "./search";
import { OrderStatus } from "./status";
import { t } from "./texts";

interface Search {
  page?: number;
  status?: Order["status"];
}

export function OrderList({ page = 1, status, onSearch }: Search & { onSearch: (next: Search) => void }) {
  const query = useQuery(orders(page, status));
  const action = (
    <Button component={Link} to="/order">
      {t("title")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("list.title")} actions={action} />
      <NativeSelect
        label={t("list.filter")}
        value={status ?? ""}
        onChange={(event) => onSearch({ status: (event.currentTarget.value || undefined) as Search["status"] })}
        data={[
          { value: "", label: t("list.all") },
          ...statuses.map((one) => ({ value: one, label: t(`status.${one}`) })),
        ]}
        maw={260}
        mb="md"
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconShoppingCart} title={t("list.empty")} text={t("list.empty_text")} action={action} />
          ) : (
            <>
              <DataTable
                caption={t("list.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "number",
                    label: t("column.number"),
                    render: (row) => (
                      <AnchorLink to="/orders/$order" params={{ order: String(row.id) }}>
                        {row.number}
                      </AnchorLink>
                    ),
                  },
                  {
                    key: "what",
                    label: t("column.what"),
                    render: (row) =>
                      row.items.map((item) => [item.title, item.domain].filter(Boolean).join(", ")).join("; "),
                  },
                  { key: "date", label: t("column.date"), render: (row) => <When time={row.created_at} form="day" /> },
                  { key: "status", label: t("column.status"), render: (row) => <OrderStatus status={row.status} /> },
                  { key: "total", label: t("column.total"), right: true, render: (row) => money(row.total) },
                ]}
              />
              <Pager meta={meta} onChange={(next) => onSearch({ page: next, status })} />
            </>
          )
        }
      </Load>
    </>
  );
}
