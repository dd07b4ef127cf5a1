import { IconCoin } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Narrowed } from "~/ui/staff/Narrowed";
import { t as shared } from "~/ui/staff/texts";
import { usd } from "~/ui/staff/usd";
import { When } from "~/ui/When";

import { confirmTopup, topups } from "./api";
import { t } from "./texts";

export function TopupList({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), attention: oneIn(raw.attention, ["topups_waiting"] as const) };
  const query = useQuery(topups(search));
  const changed = useChanged();
  return (
    <>
      <PageHeader title={t("topups.title")} description={t("topups.description")} />
      <Narrowed on={search.attention !== undefined} onAll={() => onSearch({})} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconCoin} title={t("topups.none")} />
          ) : (
            <>
              <DataTable
                caption={t("topups.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "number", label: shared("column.number"), render: (row) => `#${row.id}` },
                  {
                    key: "customer",
                    label: shared("column.customer"),
                    render: (row) => <CustomerLink id={row.account_id} email={row.email} />,
                  },
                  { key: "gateway", label: t("topups.gateway"), render: (row) => row.gateway },
                  { key: "since", label: t("topups.since"), render: (row) => <When time={row.created_at} /> },
                  {
                    key: "until",
                    label: t("topups.until"),
                    render: (row) => <When time={row.expires_at} form="relative" />,
                  },
                  {
                    key: "amount",
                    label: t("topups.amount"),
                    right: true,
                    render: (row) => usd(row.amount_usd_cents),
                  },
                  { key: "total", label: t("topups.total"), right: true, render: (row) => usd(row.total_usd_cents) },
                  {
                    key: "actions",
                    label: shared("column.actions"),
                    actions: true,
                    render: (row) =>
                      row.gateway === "bank" && (
                        <Act
                          operation="staff.topups.confirm"
                          label={t("confirm")}
                          size="compact-sm"
                          text={t("confirm.text", {
                            email: row.email,
                            total: usd(row.total_usd_cents),
                            amount: usd(row.amount_usd_cents),
                          })}
                          amount={{ label: t("confirm.amount") }}
                          act={async ({ amount }) => {
                            await confirmTopup(row.id, amount);
                            await changed(t("confirm.done", { email: row.email, amount: usd(row.amount_usd_cents) }));
                          }}
                        />
                      ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={(next) => onSearch({ ...search, page: next })} />
            </>
          )
        }
      </Load>
    </>
  );
}
