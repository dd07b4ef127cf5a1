import { Button, ColorInput, FileButton, Group, Image, Input, Stack, Text, TextInput } from "@mantine/core";

import { dataURL } from "../base64";
import { type BrandForm, type Settings } from "./form";
import { kinds, maxKB, shownOf, type Picture } from "./picture";
import { t } from "./texts";

interface Props {
  form: BrandForm;
  /** The pictures that are shown now. */
  present: Record<Picture, string | null>;
  /** Those of them that can be taken away. */
  uploaded: readonly string[];
  /** What an empty field says. */
  placeholder: (name: keyof Settings) => string;
  /** What is said of the support address, and of the logo. */
  hints: { support: string; logo: string };
}

/** The fields of a brand: the company's, or a reseller's. */
export function BrandFields({ form, present, uploaded, placeholder, hints }: Props) {
  const field = (name: keyof Settings) => ({
    ...form.getInputProps(name),
    placeholder: placeholder(name),
    autoComplete: "off",
  });
  return (
    <Stack>
      <TextInput label={t("name")} maxLength={80} {...field("name")} />
      <ColorInput
        label={t("color")}
        description={t("color.hint")}
        format="hex"
        withEyeDropper={false}
        {...field("color")}
      />
      <TextInput
        label={t("support")}
        description={hints.support}
        type="email"
        maxLength={254}
        {...field("support_email")}
      />
      {(["terms", "privacy", "imprint"] as const).map((page) => (
        <TextInput
          key={page}
          label={t(page)}
          description={t("link.hint")}
          type="url"
          maxLength={500}
          {...field(`${page}_url`)}
        />
      ))}
      {kinds.map((kind) => (
        <PictureField
          key={kind}
          kind={kind}
          form={form}
          present={present[kind]}
          uploaded={uploaded.includes(kind)}
          hint={kind === "logo" ? hints.logo : t("icon.hint")}
        />
      ))}
    </Stack>
  );
}

interface PictureProps {
  kind: Picture;
  form: BrandForm;
  present: string | null;
  uploaded: boolean;
  hint: string;
}

function PictureField({ kind, form, present, uploaded, hint }: PictureProps) {
  const plan = form.values[kind];
  const shown = shownOf(plan, present);
  const choose = async (file: File | null) => {
    if (!file) return;
    const max = maxKB[kind];
    if (file.size > max * 1024) form.setFieldError(kind, t("large", { max }));
    else form.setFieldValue(kind, { url: await dataURL(file) });
  };
  const error = form.errors[kind];
  return (
    <Stack gap={4} role="group" aria-label={t(kind)}>
      <Text size="sm" fw={600}>
        {t(kind)}
      </Text>
      <Text size="xs" c="dimmed">
        {hint}
      </Text>
      <Group>
        {shown && <Image src={shown} alt="" h={32} w="auto" maw={180} fit="contain" />}
        {"remove" in plan && (
          <Text size="sm" c="dimmed">
            {t("removed")}
          </Text>
        )}
        <FileButton onChange={(file) => void choose(file)} accept="image/png,image/webp,image/svg+xml,.ico">
          {(props) => (
            <Button {...props} variant="default" size="xs">
              {t("choose")}
            </Button>
          )}
        </FileButton>
        {"keep" in plan ? (
          uploaded && (
            <Button variant="subtle" size="xs" onClick={() => form.setFieldValue(kind, { remove: true })}>
              {t("remove")}
            </Button>
          )
        ) : (
          <Button variant="subtle" size="xs" onClick={() => form.setFieldValue(kind, { keep: true })}>
            {t("keep")}
          </Button>
        )}
      </Group>
      {error && <Input.Error role="alert">{error}</Input.Error>}
    </Stack>
  );
}
