import { IconShoppingCart } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { Filter } from "~/ui/staff/Filter";
import { orders, orderStatuses, OrderTable, type OrderStatus } from "~/ui/staff/lists";
import { Narrowed } from "~/ui/staff/Narrowed";
import { t as shared } from "~/ui/staff/texts";

import { t } from "./texts";

export function OrderList({ search: raw, onSearch }: StaffPage) {
  const statuses = Object.keys(orderStatuses) as OrderStatus[];
  const search = {
    page: numberIn(raw.page),
    status: oneIn(raw.status, statuses),
    attention: oneIn(raw.attention, ["orders_processing"] as const),
  };
  const query = useQuery(orders(search));
  return (
    <>
      <PageHeader title={t("orders.title")} description={t("orders.description")} />
      <Narrowed on={search.attention !== undefined} onAll={() => onSearch({})} />
      <Filter
        mb="md"
        label={t("status")}
        value={search.status}
        options={statuses.map((one) => [one, shared(`order.${one}`)] as const)}
        onChange={(status) => onSearch({ status })}
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconShoppingCart} title={t("orders.none")} />
          ) : (
            <>
              <OrderTable rows={data} />
              <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
            </>
          )
        }
      </Load>
    </>
  );
}
