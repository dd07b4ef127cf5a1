import { Anchor, Card, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { number } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { PageHeader } from "~/ui/PageHeader";
import { PageLoad } from "~/ui/PageLoad";
import { type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Facts as FactList, type Fact } from "~/ui/staff/Facts";
import { OrderState, pdf } from "~/ui/staff/lists";
import { typed } from "~/ui/staff/cents";
import { usd } from "~/ui/staff/usd";
import { When } from "~/ui/When";

import { order, refund, retryOrder, type OrderView } from "./api";
import { t } from "./texts";

export function OrderPage({ id }: StaffPage) {
  const query = useQuery(order(Number(id)));
  return (
    <PageLoad query={query}>
      {(data) => (
        <>
          <PageHeader
            title={data.number}
            aside={<OrderState status={data.status} />}
            actions={<Actions data={data} />}
          />
          <Stack gap="lg">
            <Facts data={data} />
            <Lines data={data} />
          </Stack>
        </>
      )}
    </PageLoad>
  );
}

function Actions({ data }: { data: OrderView }) {
  const changed = useChanged();
  const left = data.total_usd_cents - data.refunded_usd_cents;
  return (
    <>
      {["paid", "processing"].includes(data.status) && (
        <Act
          operation="staff.orders.retry"
          label={t("retry")}
          text={t("retry.text")}
          reason="staff"
          act={async ({ reason }) => {
            await retryOrder(data.id, reason);
            await changed(t("retry.done"));
          }}
        />
      )}
      {data.status === "completed" && left > 0 && (
        <Act
          operation="staff.orders.refund"
          label={t("refund")}
          text={t("refund.text", { email: data.email, left: usd(left) })}
          amount={{ label: t("amount"), initial: typed(left) }}
          reason="customer"
          danger
          act={async ({ key, amount, reason }) => {
            await refund(data.id, key, amount, reason);
            await changed(t("refund.done", { amount: usd(amount) }));
          }}
        />
      )}
    </>
  );
}

function Facts({ data }: { data: OrderView }) {
  const facts: Fact[] = [
    [t("order.customer"), <CustomerLink key="customer" id={data.account_id} email={data.email} />],
    [t("order.made"), <When key="made" time={data.created_at} />],
  ];
  if (data.paid_at) facts.push([t("order.paid"), <When key="paid" time={data.paid_at} />]);
  if (data.completed_at) facts.push([t("order.completed"), <When key="completed" time={data.completed_at} />]);
  if (data.coupon_code) facts.push([t("order.coupon"), data.coupon_code]);
  if (data.failure_key) facts.push([t("order.failure"), data.failure_key]);
  if (data.tax_usd_cents) facts.push([t("order.tax"), usd(data.tax_usd_cents)]);
  facts.push([t("order.total"), usd(data.total_usd_cents)]);
  if (data.refunded_usd_cents) facts.push([t("order.refunded"), usd(data.refunded_usd_cents)]);
  if (data.invoice_id)
    facts.push([
      t("order.invoice"),
      <Anchor key="invoice" href={pdf(data.invoice_id)} target="_blank">
        PDF
      </Anchor>,
    ]);
  return (
    <Card withBorder maw={560}>
      <FactList facts={facts} />
    </Card>
  );
}

function Lines({ data }: { data: OrderView }) {
  return (
    <section aria-labelledby="lines">
      <Title order={2} id="lines" mb="xs">
        {t("order.lines")}
      </Title>
      <DataTable
        caption={t("order.lines")}
        rows={data.items.map((item, at) => ({ ...item, at }))}
        rowKey={(row) => row.at}
        columns={[
          {
            key: "title",
            label: t("line.title"),
            render: (row) => [row.title, row.domain].filter(Boolean).join(", "),
          },
          {
            key: "period",
            label: t("line.period"),
            right: true,
            render: (row) => (row.period_months ? number(row.period_months) : "–"),
          },
          { key: "state", label: t("line.state"), render: (row) => row.status },
          {
            key: "service",
            label: t("line.service"),
            render: (row) =>
              row.service_id ? <StaffLink to={`services/${row.service_id}`}>#{row.service_id}</StaffLink> : "–",
          },
          { key: "total", label: t("order.total"), right: true, render: (row) => usd(row.total_usd_cents) },
        ]}
      />
    </section>
  );
}
