import { Text } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { StaffLink } from "~/ui/staff/StaffLink";

import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { useCan } from "~/ui/staff/api";
import { textIn, type StaffPage } from "~/ui/staff/page";
import { CustomerLink } from "~/ui/staff/CustomerLink";
import { Search } from "~/ui/staff/Search";

import { search } from "./api";
import { pageOf } from "./places";
import { t } from "./texts";

/** Finds anything by what somebody has at hand. */
export function SearchPage({ search: raw, onSearch }: StaffPage) {
  const q = textIn(raw.q) ?? "";
  const query = useQuery(search(q));
  const can = useCan();
  const request = q.startsWith("req_");
  return (
    <>
      <PageHeader title={t("search.title")} description={t("search.description")} />
      <Search key={q} label={t("search.label")} initial={q} onSearch={(next) => onSearch(next ? { q: next } : {})} />
      {q !== "" && (
        <div role="status" aria-live="polite">
          <Load query={query}>
            {({ data }) =>
              data.length === 0 ? (
                <Empty
                  icon={IconSearch}
                  title={t(request ? "search.none.request" : "search.none", { q })}
                  text={
                    request ? (
                      <>
                        {t("search.none.request.text")} <Copy value={`journalctl -u stead | grep ${q}`} />
                      </>
                    ) : (
                      t("search.none.text")
                    )
                  }
                />
              ) : (
                <>
                  <Text my="md">{t("search.found", { count: data.length })}</Text>
                  <DataTable
                    caption={t("search.title")}
                    rows={data.map((hit, at) => ({ ...hit, at }))}
                    rowKey={(row) => row.at}
                    columns={[
                      { key: "kind", label: t("search.kind"), render: (row) => t(`kind.${row.kind}`) },
                      {
                        key: "title",
                        label: t("search.what"),
                        render: (row) => {
                          const place = pageOf(row, q, can("staff.audit.list"));
                          const title = row.title || `#${row.id}`;
                          return place ? (
                            <StaffLink to={place.to} search={place.search}>
                              {title}
                            </StaffLink>
                          ) : (
                            title
                          );
                        },
                      },
                      { key: "detail", label: t("search.detail"), render: (row) => row.detail || "–" },
                      {
                        key: "customer",
                        label: t("search.customer"),
                        render: (row) => <CustomerLink id={row.account_id} />,
                      },
                    ]}
                  />
                </>
              )
            }
          </Load>
        </div>
      )}
    </>
  );
}
