import { Text } from "@mantine/core";
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

import { endpoints, type Endpoint } from "./api";
import { t } from "./texts";

const tones: Record<Endpoint["status"], Tone> = { active: "good", paused: "neutral", disabled: "bad" };

/** The addresses to which events of resellers are sent, or those at which nothing arrives. */
export function Endpoints({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), attention: oneIn(raw.attention, ["webhooks_failing"] as const) };
  const query = useQuery(endpoints(search));
  return (
    <>
      <PageHeader
        title={t("endpoints.title")}
        description={t("endpoints.description")}
        actions={<StaffLink to="webhooks">{t("webhooks.title")}</StaffLink>}
      />
      <Filter
        mb="md"
        label={t("endpoints.which")}
        value={search.attention}
        options={[["webhooks_failing", t("endpoints.failing")]]}
        onChange={(attention) => onSearch({ attention })}
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconWebhook} title={t("endpoints.none")} />
          ) : (
            <>
              <DataTable
                caption={t("endpoints.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "url",
                    label: t("webhooks.url"),
                    render: (row) => (
                      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
                        {row.url}
                      </Text>
                    ),
                  },
                  {
                    key: "customer",
                    label: shared("column.customer"),
                    render: (row) => <CustomerLink id={row.account_id} email={row.email} />,
                  },
                  {
                    key: "status",
                    label: shared("column.status"),
                    render: (row) => (
                      <Status
                        tone={row.status === "active" && row.failing_since ? "bad" : tones[row.status]}
                        label={t(`endpoint.${row.status}`)}
                      />
                    ),
                  },
                  {
                    key: "failing",
                    label: t("endpoints.since"),
                    render: (row) => (row.failing_since ? <When time={row.failing_since} form="relative" /> : "–"),
                  },
                  {
                    key: "failures",
                    label: t("endpoints.failures"),
                    right: true,
                    render: (row) => row.consecutive_failures,
                  },
                  {
                    key: "success",
                    label: t("endpoints.success"),
                    render: (row) => (row.last_success_at ? <When time={row.last_success_at} form="relative" /> : "–"),
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
