import { Anchor, NativeSelect } from "@mantine/core";
import { IconFileInvoice } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { AnchorLink } from "~/ui/AnchorLink";
import { money } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { invoices, pdf } from "./api";
import { kinds, type Kind } from "./kinds";
import { t } from "./texts";

interface Search {
  page?: number;
  kind?: Kind;
}

const tones = { unpaid: "warn", paid: "good", refunded: "neutral" } as const;

export function InvoiceList({ page = 1, kind, onSearch }: Search & { onSearch: (next: Search) => void }) {
  const query = useQuery(invoices(page, kind));
  return (
    <>
      <PageHeader
        title={t("title")}
        description={
          <>
            {t("description")} <AnchorLink to="/billing">{t("billing")}</AnchorLink>
          </>
        }
      />
      <NativeSelect
        label={t("kind")}
        value={kind ?? ""}
        onChange={(event) => onSearch({ kind: (event.currentTarget.value || undefined) as Search["kind"] })}
        data={[{ value: "", label: t("kind.all") }, ...kinds.map((one) => ({ value: one, label: t(`kind.${one}`) }))]}
        maw={260}
        mb="md"
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconFileInvoice} title={t("empty")} text={t("empty.text")} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id ?? 0}
                columns={[
                  {
                    key: "number",
                    label: t("number"),
                    render: (row) => (
                      <AnchorLink to="/invoices/$invoice" params={{ invoice: String(row.id) }}>
                        {row.number ?? t("numbering")}
                      </AnchorLink>
                    ),
                  },
                  { key: "kind", label: t("kind"), render: (row) => t(`kind.${row.kind}`) },
                  {
                    key: "date",
                    label: t("issued"),
                    render: (row) => (row.issued_at ? <When time={row.issued_at} form="day" /> : "–"),
                  },
                  {
                    key: "status",
                    label: t("status"),
                    render: (row) => <Status tone={tones[row.status]} label={t(`status.${row.status}`)} />,
                  },
                  { key: "total", label: t("total"), right: true, render: (row) => money(row.total) },
                  {
                    key: "pdf",
                    label: t("pdf"),
                    actions: true,
                    render: (row) =>
                      row.id !== null &&
                      row.number && (
                        <Anchor href={pdf(row.id)} target="_blank" aria-label={`${t("pdf")} ${row.number}`}>
                          PDF
                        </Anchor>
                      ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={(next) => onSearch({ page: next, kind })} />
            </>
          )
        }
      </Load>
    </>
  );
}
