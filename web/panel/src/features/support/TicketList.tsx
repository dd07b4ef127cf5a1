import { Button, NativeSelect } from "@mantine/core";
import { IconLifebuoy } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { AnchorLink } from "~/ui/AnchorLink";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { When } from "~/ui/When";

import { states, tickets, type Filter } from "./api";
import { TicketStatus } from "./status";
import { t } from "./texts";

/** The questions of an account to the company's support, the last changed first. */
export function TicketList({ filter, onFilter }: { filter: Filter; onFilter: (next: Filter) => void }) {
  const query = useQuery(tickets(filter));
  const ask = (
    <Button renderRoot={(props) => <Link {...props} to="/support/new" search={{ service: filter.service }} />}>
      {t("new")}
    </Button>
  );
  const filtered = Boolean(filter.status ?? filter.service);
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={ask} />
      <NativeSelect
        label={t("status")}
        value={filter.status ?? ""}
        onChange={(event) =>
          onFilter({ ...filter, page: undefined, status: states.find((one) => one === event.currentTarget.value) })
        }
        data={[
          { value: "", label: t("status.all") },
          ...states.map((one) => ({ value: one, label: t(`status.${one}`) })),
        ]}
        maw={260}
        mb="md"
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty
              icon={IconLifebuoy}
              title={t(filtered ? "empty.filtered" : "empty.title")}
              text={t("empty.text")}
              action={ask}
            />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "subject",
                    label: t("column.subject"),
                    render: (row) => (
                      <AnchorLink to="/support/$ticket" params={{ ticket: String(row.id) }}>
                        {row.subject}
                      </AnchorLink>
                    ),
                  },
                  { key: "number", label: t("column.number"), render: (row) => row.id },
                  { key: "status", label: t("status"), render: (row) => <TicketStatus status={row.status} /> },
                  {
                    key: "updated",
                    label: t("column.updated"),
                    render: (row) => <When time={row.updated_at} form="relative" />,
                  },
                ]}
              />
              <Pager meta={meta} onChange={(page) => onFilter({ ...filter, page })} />
            </>
          )
        }
      </Load>
    </>
  );
}
