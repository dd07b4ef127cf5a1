import { IconHeartRateMonitor } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { percent } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Filter } from "~/ui/staff/Filter";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { t as shared } from "~/ui/staff/texts";
import { usd } from "~/ui/staff/usd";

import { decideMonth, months, monthStatuses, type Month } from "./api";
import { t } from "./texts";

/** Months whose uptime was below the promise, and the credit proposed for each. */
export function Sla({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), status: oneIn(raw.status, monthStatuses) ?? "proposed" };
  const query = useQuery(months(search));
  return (
    <>
      <PageHeader title={t("sla.title")} description={t("sla.description")} />
      <Filter
        mb="md"
        label={shared("column.status")}
        value={search.status}
        options={monthStatuses.map((one) => [one, t(`sla.${one}`)] as const)}
        onChange={(status) => onSearch({ status })}
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconHeartRateMonitor} title={t("sla.empty")} />
          ) : (
            <>
              <DataTable
                caption={t("sla.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  { key: "month", label: t("sla.month"), render: (row) => row.month },
                  {
                    key: "service",
                    label: shared("column.service"),
                    render: (row) => <StaffLink to={`services/${row.service_id}`}>#{row.service_id}</StaffLink>,
                  },
                  {
                    key: "customer",
                    label: shared("column.customer"),
                    render: (row) => <CustomerLink id={row.account_id} />,
                  },
                  {
                    key: "uptime",
                    label: t("sla.uptime"),
                    right: true,
                    render: (row) =>
                      percent(row.uptime_millionths / 1_000_000, 3) +
                      (row.promised_millionths ? ` / ${percent(row.promised_millionths / 1_000_000, 3)}` : ""),
                  },
                  { key: "amount", label: t("sla.credit"), right: true, render: (row) => usd(row.amount_usd_cents) },
                  { key: "note", label: t("sla.note"), render: (row) => row.note || "–" },
                  {
                    key: "actions",
                    label: shared("column.actions"),
                    actions: true,
                    render: (row) => row.status === "proposed" && <Decisions month={row} />,
                  },
                ]}
              />
              <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
            </>
          )
        }
      </Load>
    </>
  );
}

function Decisions({ month }: { month: Month }) {
  const changed = useChanged();
  const decide = async (decision: "approve" | "reject" | "hold", reason?: string) => {
    await decideMonth(month.id, { decision, reason });
    await changed(t("sla.decided"));
  };
  return (
    <>
      <Act
        operation="staff.sla.decide"
        label={t("sla.pay")}
        size="compact-sm"
        text={t("sla.pay.text", { amount: usd(month.amount_usd_cents) })}
        act={() => decide("approve")}
      />
      {!month.held && (
        <Act
          operation="staff.sla.decide"
          label={t("sla.hold")}
          size="compact-sm"
          text={t("sla.hold.text")}
          reason="staff"
          act={({ reason }) => decide("hold", reason)}
        />
      )}
      <Act
        operation="staff.sla.decide"
        label={t("sla.reject")}
        size="compact-sm"
        text={t("sla.reject.text")}
        reason="customer"
        danger
        act={({ reason }) => decide("reject", reason)}
      />
    </>
  );
}
