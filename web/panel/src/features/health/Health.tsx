import { Stack } from "@mantine/core";

import { isOn } from "~/app/boot";
import { PageHeader } from "~/ui/PageHeader";

import { Insights } from "./Insights";
import { Safety } from "./Safety";
import { Sla } from "./Sla";
import { t } from "./texts";

/** How safe the site is, what could be better, and whether the uptime that was promised was kept. */
export function Health({ service }: { service: number }) {
  return (
    <>
      <PageHeader title={t("title")} description={t("description")} />
      <Stack gap="xl">
        <Safety id={service} />
        {isOn("ai") && <Insights service={service} />}
        <Sla service={service} />
      </Stack>
    </>
  );
}
