import { Button, FileInput, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";

import { base64 } from "~/ui/base64";
import { ErrorNote } from "~/ui/ErrorNote";
import { useSubmit } from "~/ui/form";
import { useCan } from "~/ui/staff/api";

import { addPicture } from "./api";
import { maxPicture, pictureMark, pictureName } from "./pictures";
import { t } from "./texts";

/** Uploads a picture, and hands over the Markdown that shows it. */
export function PictureButton({ onAdded }: { onAdded: (mark: string) => void }) {
  const can = useCan();
  const [opened, { open, close }] = useDisclosure();
  if (!can("staff.articles.add_picture")) return null;
  return (
    <>
      <Button variant="default" onClick={open}>
        {t("picture.add")}
      </Button>
      <Modal opened={opened} onClose={close} title={t("picture.add")} centered>
        <PictureForm
          close={close}
          onAdded={(mark) => {
            onAdded(mark);
            close();
          }}
        />
      </Modal>
    </>
  );
}

type Fields = { content: File | null; name: string; alt: string };

function PictureForm({ onAdded, close }: { onAdded: (mark: string) => void; close: () => void }) {
  const form = useForm<Fields>({
    initialValues: { content: null, name: "", alt: "" },
    validate: {
      content: (file) => (!file ? t("picture.missing") : file.size > maxPicture ? t("picture.too_large") : null),
      alt: (alt) => (alt.trim() === "" ? t("picture.alt.missing") : null),
    },
  });
  const { submit, error } = useSubmit(form, async ({ content, name, alt }) => {
    if (!content) return;
    const added = await addPicture({ name: name.trim(), content: await base64(content) });
    onAdded(pictureMark(alt, added.path));
  });
  return (
    <form noValidate onSubmit={submit}>
      <Stack>
        <FileInput
          label={t("picture.file")}
          description={t("picture.file.hint")}
          accept="image/png,image/jpeg,image/gif,image/webp"
          required
          {...form.getInputProps("content")}
          onChange={(file) => {
            form.setFieldValue("content", file);
            if (file) form.setFieldValue("name", pictureName(file.name));
          }}
        />
        <TextInput label={t("picture.name")} maxLength={80} required {...form.getInputProps("name")} />
        <TextInput
          label={t("picture.alt")}
          description={t("picture.alt.hint")}
          maxLength={200}
          required
          {...form.getInputProps("alt")}
        />
        <ErrorNote error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t("picture.cancel")}
          </Button>
          <Button type="submit">{t("picture.add")}</Button>
        </Group>
      </Stack>
    </form>
  );
}
