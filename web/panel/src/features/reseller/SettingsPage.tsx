import { Button, Card, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { AnchorLink } from "~/ui/AnchorLink";
import { BrandFields } from "~/ui/brand/BrandFields";
import { bodyOf, isChanged, useBrandForm } from "~/ui/brand/form";
import { Preview } from "~/ui/brand/Preview";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";

import { brand, saveBrand, type Brand, type World } from "./api";
import { Frame } from "./Frame";
import { t } from "./texts";

/** What clients see, the keys of programs, and the way of AI agents. */
export function SettingsPage({ world, onWorld }: { world: World; onWorld: (world: World) => void }) {
  const query = useQuery(brand(world));
  const [version, setVersion] = useState(0);
  return (
    <Frame page="/reseller/settings" world={world} onWorld={onWorld}>
      <Stack gap="lg">
        <Load query={query}>
          {(data) => (
            <BrandEditor
              key={`${world}-${version}`}
              world={world}
              data={data}
              saved={() => setVersion((before) => before + 1)}
            />
          )}
        </Load>
        <Agents />
        <Text>
          <AnchorLink to="/invoices">{t("invoices")}</AnchorLink>
        </Text>
      </Stack>
    </Frame>
  );
}

interface EditorProps {
  world: World;
  data: Brand;
  saved: () => void;
}

/** What clients see, seen here before they do. */
function BrandEditor({ world, data, saved }: EditorProps) {
  const queries = useQueryClient();
  const form = useBrandForm(data);
  const [etag] = useState(data.etag); // of what the form began with
  const changed = isChanged(form);
  const { submit, error } = useSubmit(form, async (values) => {
    await saveBrand(world, { ...bodyOf(values), etag });
    await queries.invalidateQueries({ queryKey: ["reseller", world] });
    done(t("brand.saved"));
    saved();
  });
  const present = { logo: data.logo, icon: data.icon };
  return (
    <Card withBorder component="section" aria-labelledby="reseller-brand">
      <Title order={2} id="reseller-brand" mb={4}>
        {t("brand")}
      </Title>
      <Text c="dimmed" mb="md">
        {t("brand.text")}
      </Text>
      <form onSubmit={submit} noValidate>
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
          <BrandFields
            form={form}
            present={present}
            uploaded={data.pictures.map(({ id }) => id)}
            placeholder={(name) => t(name === "name" || name === "color" ? `brand.empty.${name}` : "brand.empty")}
            hints={{ support: t("brand.support.hint"), logo: t("brand.logo.hint") }}
          />
          <Stack>
            <Title order={3} size="h4">
              {t("brand.preview")}
            </Title>
            <Text c="dimmed">{t(changed ? "brand.preview.text" : "brand.unchanged")}</Text>
            <Preview
              values={form.values}
              present={present}
              empty={{ name: t("brand.name.example"), color: "", support: "" }}
            />
            <ErrorNote error={error} />
            <Group>
              <Button type="submit" loading={form.submitting} disabled={!changed}>
                {t("save")}
              </Button>
            </Group>
          </Stack>
        </SimpleGrid>
      </form>
    </Card>
  );
}

function Agents() {
  const address = `${location.origin}/api/v1/reseller/mcp`;
  return (
    <Card withBorder component="section" aria-labelledby="reseller-mcp">
      <Title order={2} id="reseller-mcp" mb={4}>
        {t("mcp")}
      </Title>
      <Text c="dimmed" mb="sm">
        {t("mcp.text")}
      </Text>
      <Stack gap="xs" align="flex-start">
        <Copy value={address} label={t("mcp.address")} />
        <Copy value="Authorization: Bearer rsk_…" label={t("mcp.header")} />
        <Copy
          value={JSON.stringify({ type: "http", url: address, headers: { Authorization: "Bearer rsk_…" } })}
          label="JSON"
        />
      </Stack>
    </Card>
  );
}
