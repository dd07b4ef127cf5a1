import { IconCurrency } from "@tabler/icons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { t as shared } from "~/ui/staff/texts";

import { currencies, setRate } from "./api";
import { t } from "./texts";

export function Currencies() {
  const query = useQuery(currencies);
  const queries = useQueryClient();
  return (
    <>
      <PageHeader title={t("currencies.title")} description={t("currencies.description")} />
      <Load query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon={IconCurrency} title={t("currencies.none")} />
          ) : (
            <DataTable
              caption={t("currencies.title")}
              rows={data}
              rowKey={(row) => row.currency}
              columns={[
                { key: "currency", label: t("currencies.currency"), render: (row) => row.currency },
                { key: "rate", label: t("currencies.rate"), right: true, render: (row) => row.rate || "–" },
                { key: "on", label: t("currencies.on"), render: (row) => row.rated_on || "–" },
                { key: "source", label: t("currencies.source"), render: (row) => row.source || "–" },
                {
                  key: "actions",
                  label: shared("column.actions"),
                  actions: true,
                  render: (row) => (
                    <Act
                      operation="staff.currencies.set"
                      label={t("currencies.set")}
                      size="compact-sm"
                      text={t("currencies.set.text", { currency: row.currency })}
                      fields={[{ name: "rate", label: t("currencies.rate"), initial: row.rate }]}
                      act={async ({ fields }) => {
                        await setRate(row.currency, (fields.rate ?? "").trim().replace(",", "."));
                        await queries.invalidateQueries({ queryKey: ["staff", "currencies"] });
                        done(t("currencies.done", { currency: row.currency }));
                      }}
                    />
                  ),
                },
              ]}
            />
          )
        }
      </Load>
    </>
  );
}
