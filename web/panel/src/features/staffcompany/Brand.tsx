import {
  Button,
  Card,
  ColorInput,
  FileButton,
  Group,
  Image,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { boot } from "~/app/boot";
import { luminance, shades } from "~/app/brand";
import { base64Of, dataURL } from "~/ui/base64";
import { Load } from "~/ui/Load";
import { PageHeader } from "~/ui/PageHeader";
import { Act } from "~/ui/staff/Act";
import { useChanged } from "~/ui/staff/changed";

import { changeCompany, company, removePicture, setPicture, type Company, type Picture, type Settings } from "./api";
import { maxKB, shownOf, type Plan } from "./picture";
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

const pictures: Picture[] = ["logo", "icon"];

function Editor({ data, saved }: { data: Company; saved: () => void }) {
  const changed = useChanged();
  const [values, setValues] = useState<Settings>(data.settings);
  const [plans, setPlans] = useState<Record<Picture, Plan>>({ logo: { keep: true }, icon: { keep: true } });
  const { configured, shown } = data;
  const field = (name: keyof Settings) => ({
    value: values[name],
    onChange: (event: { currentTarget: { value: string } }) => {
      const value = event.currentTarget.value;
      setValues((before) => ({ ...before, [name]: value }));
    },
    placeholder: configured[name] ? t("brand.empty", { value: configured[name] }) : t("brand.none"),
    autoComplete: "off",
  });
  const settled = (Object.keys(values) as (keyof Settings)[]).every((name) => values[name] === data.settings[name]);
  const unchanged = settled && pictures.every((picture) => "keep" in plans[picture]);
  const save = async (reason: string) => {
    if (!settled) await changeCompany(values, reason);
    for (const picture of pictures) {
      const plan = plans[picture];
      if ("url" in plan) await setPicture(picture, base64Of(plan.url), reason);
      if ("remove" in plan) await removePicture(picture);
    }
    await changed(t("brand.saved"));
    saved();
  };
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="xl">
      <Stack>
        <TextInput label={t("brand.name")} maxLength={80} {...field("name")} />
        <ColorInput
          label={t("brand.color")}
          description={t("brand.color.hint")}
          format="hex"
          withEyeDropper={false}
          {...field("color")}
          placeholder={configured.color ? t("brand.empty", { value: configured.color }) : t("brand.own")}
          onChange={(color) => setValues((before) => ({ ...before, color }))}
        />
        <TextInput
          label={t("brand.support")}
          description={t("brand.support.hint")}
          type="email"
          {...field("support_email")}
        />
        {(["terms", "privacy", "imprint"] as const).map((page) => (
          <TextInput
            key={page}
            label={t(`brand.${page}`)}
            description={t("brand.link.hint")}
            type="url"
            {...field(`${page}_url`)}
          />
        ))}
        {pictures.map((picture) => (
          <PictureField
            key={picture}
            picture={picture}
            present={picture === "logo" ? shown.logo : shown.icon}
            uploaded={data.uploaded.includes(picture)}
            plan={plans[picture]}
            onPlan={(plan) => setPlans((before) => ({ ...before, [picture]: plan }))}
          />
        ))}
      </Stack>
      <Stack>
        <Title order={2}>{t("brand.preview")}</Title>
        <Text c="dimmed">{t(unchanged ? "brand.unchanged" : "brand.preview.text")}</Text>
        <Preview
          name={values.name || configured.name}
          color={values.color || configured.color}
          logo={shownOf(plans.logo, shown.logo)}
        />
        <Group>
          <Act
            operation="staff.company.change"
            label={t("brand.save")}
            variant="filled"
            disabled={unchanged}
            text={t("brand.save.text")}
            reason="staff"
            act={({ reason }) => save(reason)}
          />
        </Group>
      </Stack>
    </SimpleGrid>
  );
}

interface PictureProps {
  picture: Picture;
  present: string | null;
  uploaded: boolean;
  plan: Plan;
  onPlan: (plan: Plan) => void;
}

function PictureField({ picture, present, uploaded, plan, onPlan }: PictureProps) {
  const [error, setError] = useState("");
  const shown = shownOf(plan, present);
  const choose = async (file: File | null) => {
    if (!file) return;
    const max = maxKB[picture];
    setError(file.size > max * 1024 ? t("brand.large", { max }) : "");
    if (file.size <= max * 1024) onPlan({ url: await dataURL(file) });
  };
  return (
    <Stack gap={4} role="group" aria-label={t(`brand.${picture}`)}>
      <Text size="sm" fw={600}>
        {t(`brand.${picture}`)}
      </Text>
      <Text size="xs" c="dimmed">
        {t(`brand.${picture}.hint`)}
      </Text>
      <Group>
        {shown && <Image src={shown} alt="" h={32} w="auto" maw={180} fit="contain" />}
        {"remove" in plan && (
          <Text size="sm" c="dimmed">
            {t("brand.removed")}
          </Text>
        )}
        <FileButton onChange={(file) => void choose(file)} accept="image/png,image/webp,image/svg+xml,.ico">
          {(props) => (
            <Button {...props} variant="default" size="xs">
              {t("brand.choose")}
            </Button>
          )}
        </FileButton>
        {"keep" in plan ? (
          uploaded && (
            <Button variant="subtle" size="xs" onClick={() => onPlan({ remove: true })}>
              {t("brand.remove")}
            </Button>
          )
        ) : (
          <Button variant="subtle" size="xs" onClick={() => onPlan({ keep: true })}>
            {t("brand.keep")}
          </Button>
        )}
      </Group>
      {error && (
        <Text size="sm" c="red" role="alert">
          {error}
        </Text>
      )}
    </Stack>
  );
}

const isColor = (color: string) => /^#[0-9a-f]{6}$/i.test(color);

/** The colour of buttons and links as pages show it, in the light and in the dark. */
function accents(color: string) {
  const all = shades(isColor(color) ? color : "#0f7a50");
  return { light: all[7], dark: all.findLast((shade) => luminance(shade) >= 0.3) ?? all[0] };
}

function Preview({ name, color, logo }: { name: string; color: string; logo: string | null }) {
  const { light, dark } = accents(color || boot.color);
  const looks = [
    { key: "light", ground: "#ffffff", text: "#212529", line: "#dee2e6", accent: light, on: "#ffffff" },
    { key: "dark", ground: "#2a2a2a", text: "#e9ecef", line: "#424242", accent: dark, on: "#1a1a1a" },
  ] as const;
  return looks.map(({ key, ground, text, line, accent, on }) => (
    <Card key={key} withBorder p={0} bg={ground} c={text} role="img" aria-label={t(`brand.preview.${key}`)}>
      <Group h={56} px="md" style={{ borderBottom: `1px solid ${line}` }}>
        {logo ? (
          <Image src={logo} alt="" h={32} w="auto" maw={200} fit="contain" />
        ) : (
          <Text fw={700} size="lg" truncate>
            {name}
          </Text>
        )}
      </Group>
      <Group p="md">
        <Text component="span" bg={accent} c={on} fw={600} px="md" py={6} style={{ borderRadius: 6 }}>
          {t("brand.preview.button")}
        </Text>
        <Text component="span" c={accent} td="underline">
          {t("brand.preview.link")}
        </Text>
      </Group>
    </Card>
  ));
}
