import { Group, Image, Text } from "@mantine/core";
import { IconPhoto } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";

import { bytes, number } from "~/i18n/formats";
import { Copy } from "~/ui/Copy";
import { DataTable } from "~/ui/DataTable";
import { Empty } from "~/ui/Empty";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";
import { textIn, type StaffPage } from "~/ui/staff/page";
import { Search } from "~/ui/staff/Search";

import { pictures, removePicture, type Picture } from "./api";
import { t } from "./texts";

/** The pictures that articles can show. */
export function Pictures({ search: raw, onSearch }: StaffPage) {
  const q = textIn(raw.q) ?? "";
  const query = useQuery(pictures);
  return (
    <>
      <PageHeader title={t("pictures.title")} description={t("pictures.description")} />
      <Group mb="md">
        <Search key={q} label={t("picture.name")} initial={q} onSearch={(next) => onSearch({ q: next || undefined })} />
      </Group>
      <Load query={query}>
        {({ data }) => {
          const found = data.filter(({ name }) => name.includes(q.toLowerCase()));
          if (found.length === 0) return <Empty icon={IconPhoto} title={t("pictures.none")} />;
          return (
            <DataTable
              caption={t("pictures.title")}
              rows={found}
              rowKey={(row) => row.name}
              columns={[
                { key: "picture", label: t("picture.file"), render: (row) => <Thumbnail picture={row} /> },
                { key: "mark", label: t("pictures.path"), render: (row) => <Copy value={row.path} label={row.name} /> },
                {
                  key: "pixels",
                  label: t("pictures.size"),
                  render: (row) => (
                    <>
                      {row.width > 0 && t("pictures.pixels", { width: number(row.width), height: number(row.height) })}
                      <Text size="xs" c="dimmed">
                        {bytes(row.bytes)}
                      </Text>
                    </>
                  ),
                },
                {
                  key: "remove",
                  label: t("pictures.remove"),
                  actions: true,
                  render: (row) => <Remove picture={row} />,
                },
              ]}
            />
          );
        }}
      </Load>
    </>
  );
}

/** The picture, small. Its name stands beside it. */
const Thumbnail = ({ picture }: { picture: Picture }) => (
  <Image src={picture.path} alt="" loading="lazy" w={96} h={64} fit="contain" radius="sm" />
);

function Remove({ picture }: { picture: Picture }) {
  const changed = useChanged();
  return (
    <Act
      operation="staff.articles.remove_picture"
      label={t("pictures.remove")}
      aria-label={t("pictures.remove_name", { name: picture.name })}
      text={t("pictures.remove.text", { name: picture.name })}
      danger
      act={async () => {
        await removePicture(picture.name);
        await changed(t("pictures.removed"));
      }}
    />
  );
}
