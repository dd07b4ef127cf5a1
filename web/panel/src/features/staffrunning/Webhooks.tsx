import { Code } from "@mantine/core";
import { IconWebhook } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Filter } from "~/ui/staff/Filter";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { t as shared } from "~/ui/staff/texts";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { deliveries, deliveryStatuses } from "./api";
import { t } from "./texts";

type Delivered = (typeof deliveryStatuses)[number];

const tones: Record<Delivered, Tone> = {
  pending: "neutral",
  sending: "busy",
  success: "good",
  retry: "warn",
  failed: "bad",
  discarded: "bad",
};

/** What was sent to resellers' addresses, and how it went. */
export function Webhooks({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), status: oneIn(raw.status, deliveryStatuses) };
  const query = useQuery(deliveries(search));
  return (
    <>
      <PageHeader
        title={t("webhooks.title")}
        description={t("webhooks.description")}
        actions={<StaffLink to="webhook-endpoints">{t("endpoints.title")}</StaffLink>}
      />
      <Filter
        mb="md"
        label={shared("column.status")}
        value={search.status}
        options={deliveryStatuses.map((one) => [one, t(`delivery.${one}`)] as const)}
        onChange={(status) => onSearch({ status })}
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconWebhook} title={t("webhooks.none")} />
          ) : (
            <>
              <DataTable
                caption={t("webhooks.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "customer",
                    label: shared("column.customer"),
                    render: (row) => <CustomerLink id={row.account_id} />,
                  },
                  { key: "type", label: t("webhooks.event"), render: (row) => <Code>{row.type}</Code> },
                  { key: "url", label: t("webhooks.url"), render: (row) => row.url },
                  {
                    key: "status",
                    label: shared("column.status"),
                    render: (row) => {
                      const status = row.status as Delivered;
                      const detail = row.http_status ?? row.error_key;
                      return (
                        <Status tone={tones[status]} label={t(`delivery.${status}`) + (detail ? ` · ${detail}` : "")} />
                      );
                    },
                  },
                  { key: "created", label: shared("column.created"), render: (row) => <When time={row.created_at} /> },
                  {
                    key: "next",
                    label: t("jobs.next"),
                    render: (row) => (row.next_at ? <When time={row.next_at} form="relative" /> : "–"),
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
