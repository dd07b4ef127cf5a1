import { IconFileInvoice } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { numberIn, oneIn, type StaffPage } from "~/ui/staff/page";
import { Pager } from "~/ui/Pager";
import { Filter } from "~/ui/staff/Filter";
import { documents, DocumentTable } from "~/ui/staff/lists";
import { t as shared } from "~/ui/staff/texts";

import { documentKinds } from "./kinds";
import { t } from "./texts";

export function DocumentList({ search: raw, onSearch }: StaffPage) {
  const search = { page: numberIn(raw.page), kind: oneIn(raw.kind, documentKinds) };
  const query = useQuery(documents(search));
  return (
    <>
      <PageHeader title={t("documents.title")} description={t("documents.description")} />
      <Filter
        mb="md"
        label={t("kind")}
        value={search.kind}
        options={documentKinds.map((one) => [one, shared(`document.${one}`)] as const)}
        onChange={(kind) => onSearch({ kind })}
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconFileInvoice} title={t("documents.none")} />
          ) : (
            <>
              <DocumentTable rows={data} />
              <Pager meta={meta} onChange={(page) => onSearch({ ...search, page })} />
            </>
          )
        }
      </Load>
    </>
  );
}
