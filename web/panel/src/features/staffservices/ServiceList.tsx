import { Group } from "@mantine/core";
import { IconServer } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { numberIn, oneIn, textIn, type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { Filter } from "~/ui/staff/Filter";
import { services, serviceStatuses, ServiceTable, stuckServices, type ServiceStatus } from "~/ui/staff/lists";
import { Narrowed } from "~/ui/staff/Narrowed";
import { Search } from "~/ui/staff/Search";
import { t as shared } from "~/ui/staff/texts";

import { t } from "./texts";

export function ServiceList({ search: raw, onSearch }: StaffPage) {
  const statuses = Object.keys(serviceStatuses) as ServiceStatus[];
  const search = {
    page: numberIn(raw.page),
    status: oneIn(raw.status, statuses),
    node: textIn(raw.node),
    attention: oneIn(raw.attention, stuckServices),
  };
  const query = useQuery(services(search));
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Narrowed on={search.attention !== undefined} onAll={() => onSearch({})} />
      <Group align="flex-end" mb="md">
        <Filter
          label={t("status")}
          value={search.status}
          options={statuses.map((one) => [one, shared(`service.${one}`)] as const)}
          onChange={(status) => onSearch({ node: search.node, status })}
        />
        <Search
          key={search.node ?? ""}
          label={t("node")}
          initial={search.node ?? ""}
          onSearch={(node) => onSearch({ status: search.status, node: node || undefined })}
        />
      </Group>
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconServer} title={t("none")} />
          ) : (
            <>
              <ServiceTable rows={data} />
              <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
            </>
          )
        }
      </Load>
    </>
  );
}
