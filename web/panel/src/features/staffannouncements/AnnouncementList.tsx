import { Button, Text } from "@mantine/core";
import { IconSpeakerphone } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { inLang } from "~/i18n/formats";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Pager } from "~/ui/Pager";
import { useCan } from "~/ui/staff/api";
import { numberIn, type StaffPage } from "~/ui/staff/page";
import { StaffLink } from "~/ui/staff/StaffLink";
import { t as shared } from "~/ui/staff/texts";
import { Status } from "~/ui/Status";
import { When } from "~/ui/When";

import { announcements, isTelling, type Announcement } from "./api";
import { tones } from "./states";
import { t } from "./texts";

/** What staff announce to customers: drafts, what is shown, and what is over. */
export function AnnouncementList({ search, onSearch }: StaffPage) {
  const can = useCan();
  const query = useQuery(announcements({ page: numberIn(search.page) }));
  const add = can("staff.announcements.create") && (
    <Button
      renderRoot={(props) => <Link to="/staff/$" params={{ _splat: "announcements/new" }} search={{}} {...props} />}
    >
      {t("new")}
    </Button>
  );
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} actions={add} />
      <Load query={query}>
        {({ data, meta }) =>
          data.length === 0 ? (
            <Empty icon={IconSpeakerphone} title={t("none")} text={t("none.text")} action={add} />
          ) : (
            <>
              <DataTable
                caption={t("title")}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  {
                    key: "title",
                    label: t("field.title"),
                    render: (row) => <StaffLink to={`announcements/${row.id}`}>{inLang(textsOf(row))}</StaffLink>,
                  },
                  {
                    key: "audience",
                    label: t("audience"),
                    render: (row) => (
                      <>
                        {t(`audience.${row.audience}`)}
                        {row.audience_of && (
                          <Text size="xs" c="dimmed">
                            {row.audience_of}
                          </Text>
                        )}
                      </>
                    ),
                  },
                  {
                    key: "state",
                    label: shared("column.status"),
                    render: (row) => <Status tone={tones[row.state]} label={t(`state.${row.state}`)} />,
                  },
                  {
                    key: "from",
                    label: t("from"),
                    render: (row) => (row.starts_at ? <When time={row.starts_at} /> : <Text c="dimmed">–</Text>),
                  },
                  {
                    key: "told",
                    label: t("told"),
                    render: (row) =>
                      row.notify ? (
                        isTelling(row) ? (
                          t("told.running", { count: row.told })
                        ) : (
                          t("told.count", { count: row.told })
                        )
                      ) : (
                        <Text c="dimmed">–</Text>
                      ),
                  },
                ]}
              />
              <Pager meta={meta} onChange={(page) => onSearch({ page })} />
            </>
          )
        }
      </Load>
    </>
  );
}

/** The title in the languages that have one. */
const textsOf = ({ title }: Announcement) =>
  Object.fromEntries(Object.entries(title).filter(([, text]) => text)) as Record<string, string>;
