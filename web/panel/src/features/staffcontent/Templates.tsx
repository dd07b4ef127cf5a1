import { Anchor, Image, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { date, inLang, number } from "~/i18n/formats";
import { currentLang } from "~/i18n/i18n";
import { DataTable } from "~/ui/DataTable";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import type { StaffPage } from "~/ui/staff/page";
import { t as shared } from "~/ui/staff/texts";
import { Status } from "~/ui/Status";

import { offerTemplate, templatePreview, templates, templateThumbnail, type Template } from "./api";
import { t } from "./texts";

/** The site templates, with those that customers are not offered. */
export function Templates(_: StaffPage) {
  const query = useQuery(templates);
  return (
    <>
      <PageHeader title={t("templates.title")} description={t("templates.description")} />
      <Load query={query}>
        {({ data }) => (
          <DataTable
            caption={t("templates.title")}
            rows={data}
            rowKey={(row) => row.id}
            columns={[
              { key: "picture", label: t("templates.picture"), render: (row) => <Thumbnail id={row.id} /> },
              { key: "name", label: t("templates.name"), render: (row) => <Name template={row} /> },
              {
                key: "services",
                label: t("templates.services"),
                right: true,
                render: (row) => number(row.services),
              },
              { key: "updated", label: t("templates.updated"), render: (row) => date(row.updated_at) },
              {
                key: "state",
                label: shared("column.status"),
                render: ({ offered }) => (
                  <Status
                    tone={offered ? "good" : "neutral"}
                    label={t(offered ? "templates.offered" : "templates.hidden")}
                  />
                ),
              },
              {
                key: "actions",
                label: shared("column.actions"),
                actions: true,
                render: (row) => <Offer template={row} />,
              },
            ]}
          />
        )}
      </Load>
    </>
  );
}

/** The picture, small. Its name stands beside it. */
const Thumbnail = ({ id }: { id: number }) => (
  <Image src={templateThumbnail(id)} alt="" loading="lazy" w={96} h={72} radius="sm" />
);

function Name({ template }: { template: Template }) {
  const name = inLang(template.name);
  return (
    <>
      {name}
      <Text size="xs" c="dimmed">
        {template.slug}
      </Text>
      <Anchor
        size="sm"
        href={templatePreview(template.id, currentLang())}
        target="_blank"
        rel="noreferrer"
        aria-label={t("templates.preview_name", { name })}
      >
        {t("templates.preview")}
      </Anchor>
    </>
  );
}

function Offer({ template: { id, name: names, offered } }: { template: Template }) {
  const changed = useChanged();
  const name = inLang(names);
  return (
    <Act
      operation="staff.templates.set"
      label={t(offered ? "templates.hide" : "templates.offer")}
      aria-label={t(offered ? "templates.hide_name" : "templates.offer_name", { name })}
      size="compact-sm"
      text={t(offered ? "templates.hide.text" : "templates.offer.text", { name })}
      danger={offered}
      act={async () => {
        await offerTemplate(id, !offered);
        await changed(t(offered ? "templates.was_hidden" : "templates.was_offered"));
      }}
    />
  );
}
