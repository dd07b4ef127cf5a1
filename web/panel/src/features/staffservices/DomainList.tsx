import { Code, Group, Text } from "@mantine/core";
import { IconWorld } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Filter } from "~/ui/staff/Filter";
import { Narrowed } from "~/ui/staff/Narrowed";
import { numberIn, oneIn, textIn, type StaffPage } from "~/ui/staff/page";
import { Search } from "~/ui/staff/Search";
import { StaffLink } from "~/ui/staff/StaffLink";
import { t as shared } from "~/ui/staff/texts";
import { Status, type Tone } from "~/ui/Status";
import { When } from "~/ui/When";

import { domains, type RegisteredDomain } from "./api";
import { t } from "./texts";

const tones: Record<RegisteredDomain["status"], Tone> = {
  pending_registration: "busy",
  pending_transfer_in: "busy",
  active: "good",
  expired: "warn",
  grace: "warn",
  redemption: "warn",
  pending_delete: "bad",
  transferred_out: "neutral",
  cancelled: "neutral",
  failed: "bad",
};
const statuses = Object.keys(tones) as RegisteredDomain["status"][];

/** The registered domains of all customers, with what their registries were asked last. */
export function DomainList({ search: raw, onSearch }: StaffPage) {
  const search = {
    page: numberIn(raw.page),
    status: oneIn(raw.status, statuses),
    q: textIn(raw.q),
    attention: oneIn(raw.attention, ["domains_waiting"] as const),
  };
  const query = useQuery(domains(search));
  return (
    <>
      <PageHeader title={t("domains.title")} description={t("domains.description")} />
      <Narrowed on={search.attention !== undefined} text={t("domains.waiting")} onAll={() => onSearch({})} />
      <Group align="flex-end" mb="md">
        <Filter
          label={t("status")}
          value={search.status}
          options={statuses.map((one) => [one, t(`domain.${one}`)] as const)}
          onChange={(status) => onSearch({ q: search.q, status })}
        />
        <Search
          key={search.q ?? ""}
          label={t("domains.name")}
          initial={search.q ?? ""}
          onSearch={(q) => onSearch({ status: search.status, q: q || undefined })}
        />
      </Group>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconWorld} title={t("domains.none")} />
          ) : (
            <>
              <DataTable
                caption={t("domains.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "name",
                    label: t("fact.domain"),
                    render: (row) => (
                      <>
                        {row.name}
                        {row.sandbox && (
                          <Text size="xs" c="dimmed">
                            {t("domains.sandbox")}
                          </Text>
                        )}
                      </>
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
                    render: (row) => <Status tone={tones[row.status]} label={t(`domain.${row.status}`)} />,
                  },
                  { key: "asked", label: t("domains.asked"), render: (row) => <Asked of={row} /> },
                  {
                    key: "expires",
                    label: shared("column.expires"),
                    render: (row) => (row.expires_at ? <When time={row.expires_at} form="day" /> : "–"),
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

/** What the registry was asked last, since when, what it said, and the order that pays for it. */
function Asked({ of }: { of: RegisteredDomain }) {
  if (!of.operation || !of.operation_status || !of.operation_at) return <>–</>;
  const order = of.operation_order_id;
  return (
    <>
      <Text size="sm">
        {t(`asked.${of.operation}`)}: {t(`asked.${of.operation_status}`)},{" "}
        <When time={of.operation_at} form="relative" />
      </Text>
      {of.operation_failure_key && <Code>{of.operation_failure_key}</Code>}
      {of.operation_message && (
        <Text size="xs" style={{ overflowWrap: "anywhere" }}>
          {of.operation_message}
        </Text>
      )}
      {order !== null && (
        <Text size="sm">
          <StaffLink to={`orders/${order}`}>
            {t("fact.order")} #{order}
          </StaffLink>
        </Text>
      )}
    </>
  );
}
