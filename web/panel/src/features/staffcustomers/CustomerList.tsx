import { SimpleGrid } from "@mantine/core";
import { IconUsers } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { number } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { numberIn, oneIn, textIn, type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Filter } from "~/ui/staff/Filter";
import { Search } from "~/ui/staff/Search";
import { usd } from "~/ui/staff/usd";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { customers, states, type State } from "./api";
import { t } from "./texts";

const tones = { open: "good", suspended: "warn", closed: "neutral" } as const;

const stateOf = (row: { closed_at: string | null; suspended_at: string | null }): State =>
  row.closed_at ? "closed" : row.suspended_at ? "suspended" : "open";

export function CustomerList({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), q: textIn(raw.q), state: oneIn(raw.state, states) };
  const query = useQuery(customers(search));
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <SimpleGrid cols={{ base: 1, sm: 2 }} mb="md">
        <Search
          key={search.q ?? ""}
          label={t("find")}
          initial={search.q ?? ""}
          onSearch={(q) => onSearch({ state: search.state, q: q || undefined })}
        />
        <Filter
          label={t("state")}
          value={search.state}
          options={states.map((one) => [one, t(`state.${one}`)] as const)}
          onChange={(state) => onSearch({ q: search.q, state })}
        />
      </SimpleGrid>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconUsers} title={t("none")} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "email",
                    label: t("column.email"),
                    render: (row) => <CustomerLink id={row.id} email={row.email} />,
                  },
                  { key: "name", label: t("column.name"), render: (row) => row.name || "–" },
                  {
                    key: "state",
                    label: t("state"),
                    render: (row) => <Status tone={tones[stateOf(row)]} label={t(`state.${stateOf(row)}`)} />,
                  },
                  {
                    key: "services",
                    label: t("column.services"),
                    right: true,
                    render: (row) => number(row.services),
                  },
                  {
                    key: "balance",
                    label: t("column.balance"),
                    right: true,
                    render: (row) => usd(row.balance_usd_cents),
                  },
                  {
                    key: "since",
                    label: t("column.since"),
                    render: (row) => <When time={row.created_at} form="day" />,
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
