import { Card, Group, Image, Text } from "@mantine/core";

import { luminance, shades } from "~/app/brand";

import { isColor, type BrandValues } from "./form";
import { shownOf, type Picture } from "./picture";
import { t } from "./texts";

/** The colour of buttons and links as pages show it, in the light and in the dark. */
function accents(color: string) {
  const all = shades(isColor(color) ? color : "#0f7a50");
  return { light: all[7], dark: all.findLast((shade) => luminance(shade) >= 0.3) ?? all[0] };
}

interface Props {
  values: BrandValues;
  present: Record<Picture, string | null>;
  /** What holds where nothing is set. */
  empty: { name: string; color: string; support: string };
}

/** A page of the brand as it will be: the browser's tab, the head, a button and a link, and the foot; light and dark. */
export function Preview({ values, present, empty }: Props) {
  const name = values.name || empty.name;
  const support = values.support_email || empty.support;
  const logo = shownOf(values.logo, present.logo);
  const icon = shownOf(values.icon, present.icon);
  const { light, dark } = accents(values.color || empty.color);
  const looks = [
    { key: "light", ground: "#ffffff", tab: "#f1f3f5", text: "#212529", line: "#dee2e6", accent: light, on: "#ffffff" },
    { key: "dark", ground: "#2a2a2a", tab: "#1f1f1f", text: "#e9ecef", line: "#424242", accent: dark, on: "#1a1a1a" },
  ] as const;
  const foot = [
    support,
    ...(["terms", "privacy", "imprint"] as const).filter((page) => values[`${page}_url`]).map((page) => t(page)),
  ].filter(Boolean);
  return looks.map(({ key, ground, tab, text, line, accent, on }) => (
    <Card key={key} withBorder p={0} bg={ground} c={text} role="img" aria-label={t(`preview.${key}`)}>
      <Group px="md" py={6} gap="xs" bg={tab} wrap="nowrap">
        {icon && <Image src={icon} alt="" h={16} w={16} fit="contain" />}
        <Text size="xs" truncate>
          {name}
        </Text>
      </Group>
      <Group h={56} px="md" style={{ borderBottom: `1px solid ${line}` }} wrap="nowrap">
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
          {t("preview.button")}
        </Text>
        <Text component="span" c={accent} td="underline">
          {t("preview.link")}
        </Text>
      </Group>
      {foot.length > 0 && (
        <Group px="md" pb="sm" gap="sm">
          {foot.map((part) => (
            <Text key={part} component="span" size="xs" td="underline" style={{ overflowWrap: "anywhere" }}>
              {part}
            </Text>
          ))}
        </Group>
      )}
    </Card>
  ));
}
