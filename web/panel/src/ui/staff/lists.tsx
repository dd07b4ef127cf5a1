import { Anchor, Code } from "@mantine/core";
import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";

import { addressOf, call } from "~/api/client";
import { staff, type Schemas } from "~/api/staff";
import { DataTable, type Column } from "~/ui/DataTable";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { colleagues } from "./api";
import { CustomerLink } from "./CustomerLink";
import { StaffLink } from "./StaffLink";
import { t } from "./texts";
import { usd } from "./usd";

type Service = Schemas["AdminService"];
type Order = Schemas["AdminOrder"];
type Document = Schemas["AdminDocument"];
export type Ticket = Schemas["TicketsStaffTicket"];

export const serviceStatuses = {
  pending: "neutral",
  provisioning: "busy",
  active: "good",
  past_due: "warn",
  suspended: "warn",
  terminating: "busy",
  terminated: "neutral",
  failed: "bad",
  cancelled: "neutral",
} as const satisfies Record<string, Tone>;
export type ServiceStatus = keyof typeof serviceStatuses;

export const orderStatuses = {
  pending: "neutral",
  paid: "busy",
  processing: "busy",
  completed: "good",
  failed: "bad",
  refunded: "neutral",
  cancelled: "neutral",
  expired: "neutral",
} as const satisfies Record<string, Tone>;
export type OrderStatus = keyof typeof orderStatuses;

export const ticketStatuses = {
  open: "warn",
  waiting: "busy",
  answered: "good",
  closed: "neutral",
} as const satisfies Record<string, Tone>;

interface Paged {
  page?: number;
  per_page?: number;
  account_id?: number;
}

/** The kinds of the dashboard by which services are listed. */
export const stuckServices = [
  "services_provisioning",
  "services_failed",
  "renewals_failing",
  "services_ending",
] as const;

export const services = (
  query: Paged & { status?: ServiceStatus; node?: string; attention?: (typeof stuckServices)[number] },
) =>
  queryOptions({
    queryKey: ["staff", "services", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/services", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export const orders = (query: Paged & { status?: OrderStatus; attention?: "orders_processing" }) =>
  queryOptions({
    queryKey: ["staff", "orders", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/orders", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export const documents = (query: Paged & { kind?: Document["kind"] }) =>
  queryOptions({
    queryKey: ["staff", "documents", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/invoices", { params: { query }, signal })),
    placeholderData: keepPreviousData,
  });

export const tickets = (query: Paged & { status?: Ticket["status"]; assignee_id?: number }) =>
  queryOptions({
    queryKey: ["staff", "tickets", query],
    queryFn: ({ signal }) => call(staff.GET("/api/v1/admin/tickets", { params: { query }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
  });

export function ServiceState({ status }: { status: string }) {
  return <Status tone={serviceStatuses[status as ServiceStatus]} label={t(`service.${status as ServiceStatus}`)} />;
}

export function OrderState({ status }: { status: string }) {
  return <Status tone={orderStatuses[status as OrderStatus]} label={t(`order.${status as OrderStatus}`)} />;
}

export function TicketState({ status }: { status: Ticket["status"] }) {
  return <Status tone={ticketStatuses[status]} label={t(`ticket.${status}`)} />;
}

/** The column of customers, in lists over all of them. */
const customer = <T extends { account_id: number; email?: string }>(of?: number): Column<T>[] =>
  of
    ? []
    : [
        {
          key: "customer",
          label: t("column.customer"),
          render: (row) => <CustomerLink id={row.account_id} email={row.email} />,
        },
      ];

/** Services; `of` is the customer whose page it is on. */
export function ServiceTable({ rows, of }: { rows: Service[]; of?: number }) {
  return (
    <DataTable
      caption={t("services")}
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        {
          key: "service",
          label: t("column.service"),
          render: (row) => <StaffLink to={`services/${row.id}`}>{row.label || row.domain || `#${row.id}`}</StaffLink>,
        },
        ...customer<Service>(of),
        { key: "plan", label: t("column.plan"), render: (row) => row.plan },
        { key: "place", label: t("column.place"), render: (row) => row.node ?? row.panel },
        { key: "status", label: t("column.status"), render: (row) => <ServiceState status={row.status} /> },
        ...(rows.some((row) => row.renewal_failure)
          ? [
              {
                key: "renewal",
                label: t("column.renewal"),
                render: (row: Service) => (row.renewal_failure ? <Code>{row.renewal_failure}</Code> : "–"),
              },
            ]
          : []),
        {
          key: "expires",
          label: t("column.expires"),
          render: (row) => (row.expires_at ? <When time={row.expires_at} form="day" /> : "–"),
        },
      ]}
    />
  );
}

export function OrderTable({ rows, of }: { rows: Order[]; of?: number }) {
  return (
    <DataTable
      caption={t("orders")}
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        {
          key: "number",
          label: t("column.number"),
          render: (row) => <StaffLink to={`orders/${row.id}`}>{row.number}</StaffLink>,
        },
        ...customer<Order>(of),
        { key: "created", label: t("column.created"), render: (row) => <When time={row.created_at} /> },
        { key: "status", label: t("column.status"), render: (row) => <OrderState status={row.status} /> },
        { key: "total", label: t("column.total"), right: true, render: (row) => usd(row.total_usd_cents) },
        {
          key: "refunded",
          label: t("column.refunded"),
          right: true,
          render: (row) => (row.refunded_usd_cents ? usd(row.refunded_usd_cents) : "–"),
        },
      ]}
    />
  );
}

/** The address of a document as a PDF. */
export const pdf = (id: number) => addressOf(`/api/v1/admin/invoices/${id}`, { format: "pdf" });

export function DocumentTable({ rows, of }: { rows: Document[]; of?: number }) {
  return (
    <DataTable
      caption={t("documents")}
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        {
          key: "number",
          label: t("column.number"),
          render: ({ id, number }) =>
            number ? (
              <Anchor href={pdf(id)} target="_blank" aria-label={t("document.open", { number })}>
                {number}
              </Anchor>
            ) : (
              t("document.unnumbered")
            ),
        },
        { key: "kind", label: t("column.kind"), render: (row) => t(`document.${row.kind}`) },
        ...customer<Document>(of),
        { key: "created", label: t("column.created"), render: (row) => <When time={row.issued_at} form="day" /> },
        {
          key: "order",
          label: t("column.order"),
          render: (row) => (row.order_id ? <StaffLink to={`orders/${row.order_id}`}>#{row.order_id}</StaffLink> : "–"),
        },
        { key: "total", label: t("column.total"), right: true, render: (row) => usd(row.total_usd_cents) },
      ]}
    />
  );
}

/** The name of a member of staff. */
export function Colleague({ id }: { id: number | null }) {
  const { data } = useQuery(colleagues);
  if (!id) return <>–</>;
  const one = data?.data.find((other) => other.id === id);
  return <>{one ? one.name || one.email : `#${id}`}</>;
}

export function TicketTable({ rows, of }: { rows: Ticket[]; of?: number }) {
  return (
    <DataTable
      caption={t("tickets")}
      rows={rows}
      rowKey={(row) => row.id}
      columns={[
        {
          key: "subject",
          label: t("column.subject"),
          render: (row) => <StaffLink to={`tickets/${row.id}`}>{row.subject}</StaffLink>,
        },
        ...customer<Ticket>(of),
        { key: "status", label: t("column.status"), render: (row) => <TicketState status={row.status} /> },
        { key: "assignee", label: t("column.assignee"), render: (row) => <Colleague id={row.assignee_id} /> },
        { key: "changed", label: t("column.changed"), render: (row) => <When time={row.updated_at} form="relative" /> },
      ]}
    />
  );
}
