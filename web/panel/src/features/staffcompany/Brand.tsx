import { Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { boot } from "~/app/boot";
import { BrandFields } from "~/ui/brand/BrandFields";
import { bodyOf, isChanged, useBrandForm } from "~/ui/brand/form";
import { Preview } from "~/ui/brand/Preview";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";

import { changeCompany, company, type Company } from "./api";
import { t } from "./texts";

/** How the company shows itself: changed here, seen beside it, and live only then. */
export function Brand() {
  const query = useQuery(company);
  const [version, setVersion] = useState(0);
  return (
    <>
      <PageHeader title={t("brand.title")} description={t("brand.description")} />
      <Load query={query}>
        {(data) => <Editor key={version} data={data} saved={() => setVersion((before) => before + 1)} />}
      </Load>
    </>
  );
}

function Editor({ data, saved }: { data: Company; saved: () => void }) {
  const changed = useChanged();
  const form = useBrandForm(data.settings);
  const [etag] = useState(data.etag); // of what the form began with
  const { configured, shown } = data;
  const unchanged = !isChanged(form);
  const save = async (reason: string) => {
    await changeCompany({ ...bodyOf(form.values), etag, reason });
    await changed(t("brand.saved"));
    saved();
  };
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
      <BrandFields
        form={form}
        present={{ logo: shown.logo, icon: shown.icon }}
        uploaded={data.uploaded}
        placeholder={(name) =>
          configured[name]
            ? t("brand.empty", { value: configured[name] })
            : t(name === "color" ? "brand.own" : "brand.none")
        }
        hints={{ support: t("brand.support.hint"), logo: t("brand.logo.hint") }}
      />
      <Stack>
        <Title order={2}>{t("brand.preview")}</Title>
        <Text c="dimmed">{t(unchanged ? "brand.unchanged" : "brand.preview.text")}</Text>
        <Preview
          values={form.values}
          present={{ logo: shown.logo, icon: shown.icon }}
          empty={{ name: configured.name, color: configured.color || boot.color, support: configured.support_email }}
        />
        <Group>
          <Act
            operation="staff.company.change"
            label={t("brand.save")}
            variant="filled"
            disabled={unchanged || !form.isValid()}
            text={t("brand.save.text")}
            reason="staff"
            act={({ reason }) => save(reason)}
          />
        </Group>
      </Stack>
    </SimpleGrid>
  );
}
