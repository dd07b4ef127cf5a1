import { Group } from "@mantine/core";
import { IconMessages } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { colleagues, me } from "~/ui/staff/api";
import { Filter } from "~/ui/staff/Filter";
import { StaffLink } from "~/ui/staff/StaffLink";
import { tickets, ticketStatuses, TicketTable, type Ticket } from "~/ui/staff/lists";
import { t as shared } from "~/ui/staff/texts";

import { t } from "./texts";

export function TicketList({ search: raw, onSearch }: StaffPage) {
  const statuses = Object.keys(ticketStatuses) as Ticket["status"][];
  const search = {
    page: numberIn(raw.page),
    status: oneIn(raw.status, statuses),
    assignee: numberIn(raw.assignee),
  };
  const { page, status, assignee } = search;
  const query = useQuery(tickets({ page, status, assignee_id: assignee }));
  const people = useQuery(colleagues).data?.data ?? [];
  const own = useQuery(me).data?.id;
  return (
    <>
      <PageHeader
        title={t("title")}
        description={t("description")}
        actions={<StaffLink to="canned-answers">{t("canned.title")}</StaffLink>}
      />
      <Group mb="md">
        <Filter
          label={t("status")}
          value={status}
          options={statuses.map((one) => [one, shared(`ticket.${one}`)] as const)}
          onChange={(next) => onSearch({ assignee, status: next })}
        />
        <Filter
          label={t("assignee")}
          value={assignee ? String(assignee) : undefined}
          options={people.map((one) => [String(one.id), one.id === own ? t("mine") : one.name || one.email] as const)}
          onChange={(next) => onSearch({ status, assignee: Number(next) || undefined })}
        />
      </Group>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconMessages} title={t("none")} />
          ) : (
            <>
              <TicketTable rows={data} />
              <Pager meta={meta} onChange={(next) => onSearch({ ...search, page: next })} />
            </>
          )
        }
      </Load>
    </>
  );
}
