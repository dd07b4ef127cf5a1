import { Code, Text } from "@mantine/core";
import { IconCertificate } from "@tabler/icons-react";
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
import { When } from "~/ui/When";

import { certificates } from "./api";
import { t } from "./texts";

/** The certificates of all services, or those that cannot be had, with why. */
export function CertificateList({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), attention: oneIn(raw.attention, ["certificates_failing"] as const) };
  const query = useQuery(certificates(search));
  return (
    <>
      <PageHeader title={t("certificates.title")} description={t("certificates.description")} />
      <Filter
        mb="md"
        label={t("certificates.which")}
        value={search.attention}
        options={[["certificates_failing", t("certificates.failing")]]}
        onChange={(attention) => onSearch({ attention })}
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconCertificate} title={t("certificates.none")} />
          ) : (
            <>
              <DataTable
                caption={t("certificates.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "names",
                    label: t("certificates.names"),
                    render: (row) => <Text size="sm">{row.names.join(", ")}</Text>,
                  },
                  {
                    key: "service",
                    label: shared("column.service"),
                    render: (row) => (
                      <StaffLink to={`services/${row.service_id}`}>{row.service || `#${row.service_id}`}</StaffLink>
                    ),
                  },
                  {
                    key: "customer",
                    label: shared("column.customer"),
                    render: (row) => <CustomerLink id={row.account_id} email={row.email} />,
                  },
                  {
                    key: "expires",
                    label: t("certificates.expires"),
                    render: (row) =>
                      row.expires_at ? <When time={row.expires_at} form="day" /> : t("certificates.never"),
                  },
                  {
                    key: "failures",
                    label: t("certificates.failures"),
                    right: true,
                    render: (row) => row.failures,
                  },
                  {
                    key: "error",
                    label: t("certificates.error"),
                    render: (row) =>
                      row.last_error_key ? (
                        <>
                          <Code>{row.last_error_key}</Code>
                          <Text size="xs" style={{ overflowWrap: "anywhere" }}>
                            {[row.last_reason, row.last_error].filter(Boolean).join(" · ")}
                          </Text>
                          {row.last_attempt_at && (
                            <Text size="xs" c="dimmed">
                              <When time={row.last_attempt_at} form="relative" />
                            </Text>
                          )}
                        </>
                      ) : (
                        "–"
                      ),
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
