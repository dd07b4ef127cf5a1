import { IconShieldCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { AnchorLink } from "~/ui/AnchorLink";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { securityLog, type Event } from "./api";
import { deviceName } from "./device";
import { eventText, eventTone } from "./events";
import { t } from "./texts";

/** What happened to the ways into the account. */
export function SecurityLog({ page, onPage }: { page: number; onPage: (page: number) => void }) {
  const query = useQuery(securityLog(page));
  return (
    <>
      <PageHeader
        title={t("log.title")}
        description={
          <>
            {t("log.description")} <AnchorLink to="/account/security">{t("log.password")}</AnchorLink>
          </>
        }
      />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconShieldCheck} title={t("log.empty")} />
          ) : (
            <>
              <DataTable
                caption={t("log.title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "what",
                    label: t("log.what"),
                    render: (row) => (
                      <Status
                        tone={eventTone(row.kind)}
                        label={
                          row.times > 1
                            ? t("log.times", { what: eventText(row.kind), count: row.times })
                            : eventText(row.kind)
                        }
                      />
                    ),
                  },
                  { key: "when", label: t("log.when"), render: (row) => <When time={row.last_at} /> },
                  { key: "where", label: t("log.where"), render: (row) => row.address || "–" },
                  { key: "device", label: t("log.device"), render: device },
                ]}
              />
              <Pager meta={meta} onChange={onPage} />
            </>
          )
        }
      </Load>
    </>
  );
}

const device = (row: Event) => (row.user_agent ? <span title={row.user_agent}>{deviceName(row)}</span> : "–");
