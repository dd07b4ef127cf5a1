import { Button, Card, ColorInput, Group, Stack, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { AnchorLink } from "~/ui/AnchorLink";
import { Copy } from "~/ui/Copy";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { Load } from "~/ui/Load";
import { done } from "~/ui/notice";

import { me, saveBrand, type Brand, type World } from "./api";
import { Frame } from "./Frame";
import { t } from "./texts";

/** What clients see, the keys of programs, and the way of AI agents. */
export function SettingsPage({ world, onWorld }: { world: World; onWorld: (world: World) => void }) {
  const query = useQuery(me(world));
  return (
    <Frame page="/reseller/settings" world={world} onWorld={onWorld}>
      <Stack gap="lg">
        <Load query={query}>{(data) => <BrandForm key={world} world={world} brand={data.brand} />}</Load>
        <Agents />
        <Text>
          <AnchorLink to="/invoices">{t("invoices")}</AnchorLink>
        </Text>
      </Stack>
    </Frame>
  );
}

function BrandForm({ world, brand }: { world: World; brand: Brand }) {
  const queries = useQueryClient();
  const form = useForm({
    mode: "controlled",
    initialValues: { name: brand.name, color: brand.color, support_email: brand.support_email },
    validateInputOnBlur: true,
    validate: {
      color: (color) => (color === "" || /^#[0-9a-f]{6}$/i.test(color) ? null : t("brand.color_wrong")),
      support_email: (text) => (text === "" || /^\S+@\S+\.\S+$/.test(text) ? null : t("brand.support_wrong")),
    },
  });
  const { submit, error } = useSubmit(form, async (values) => {
    await saveBrand(world, values);
    await queries.invalidateQueries({ queryKey: ["reseller", world] });
    done(t("brand.saved"));
  });
  return (
    <Card withBorder component="section" aria-labelledby="reseller-brand">
      <Title order={2} id="reseller-brand" mb={4}>
        {t("brand")}
      </Title>
      <Text c="dimmed" mb="md">
        {t("brand.text")}
      </Text>
      <form onSubmit={submit} noValidate>
        <Stack maw={480}>
          <TextInput label={t("brand.name")} maxLength={60} {...form.getInputProps("name")} />
          <ColorInput
            label={t("brand.color")}
            description={t("brand.color_hint")}
            format="hex"
            withEyeDropper={false}
            {...form.getInputProps("color")}
          />
          <TextInput label={t("brand.support")} type="email" {...form.getInputProps("support_email")} />
          <ErrorNote error={error} />
          <Group>
            <Button type="submit" loading={form.submitting}>
              {t("save")}
            </Button>
          </Group>
        </Stack>
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
