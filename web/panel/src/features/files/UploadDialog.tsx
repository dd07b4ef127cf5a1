import { Alert, Button, Group, Modal, Radio, Stack, Text } from "@mantine/core";
import { useEffect, useState } from "react";

import { uploads } from "~/app/uploads/uploads";
import { ErrorNote } from "~/ui/ErrorNote";
import { bytes } from "~/i18n/formats";

import { readDirectory } from "./api";
import { conflicts, type Conflicts, type Dropped } from "./dropped";
import classes from "./Files.module.css";
import { join } from "./paths";
import { plan, type Answer } from "./plan";
import { t } from "./texts";

/** Asks before the first byte: where to, when it was dropped on the home; and what to do with what is there already. */
export function UploadDialog({
  service,
  directory,
  dropped,
  onClose,
}: {
  service: number;
  directory: string;
  dropped: Dropped | null;
  onClose: () => void;
}) {
  return (
    dropped && <Questions key={directory} service={service} start={directory} dropped={dropped} onClose={onClose} />
  );
}

function Questions({
  service,
  start,
  dropped,
  onClose,
}: {
  service: number;
  start: string;
  dropped: Dropped;
  onClose: () => void;
}) {
  const [directory, setDirectory] = useState(start === "/" ? null : start);
  const [choice, setChoice] = useState("/public_html");
  const [found, setFound] = useState<Conflicts | null>(null);
  const [answer, setAnswer] = useState<Answer>("replace");
  const [error, setError] = useState<unknown>(null);
  const nothing = dropped.files.length + dropped.empty.length === 0;

  useEffect(() => {
    if (nothing) return onClose();
    if (directory === null) return;
    let stale = false;
    const compare = async () => {
      const list = async (path: string) =>
        (await readDirectory(service, path ? join(directory, path) : directory)).entries;
      const compared = await conflicts(dropped, list);
      if (stale) return;
      if (compared.files.length + compared.clashes.length === 0) {
        uploads.add(plan(service, directory, dropped, compared, "skip"));
        onClose();
      } else {
        setFound(compared);
      }
    };
    compare().catch((failure) => !stale && setError(failure));
    return () => {
      stale = true;
    };
  }, [service, directory, dropped, nothing, onClose]);

  if (directory === null) {
    const size = dropped.files.reduce((sum, { file }) => sum + file.size, 0);
    return (
      <Modal opened onClose={onClose} title={t("where.title")}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setDirectory(choice);
          }}
        >
          <Stack>
            <Text>{t("where.what", { count: dropped.files.length, size: bytes(size) })}</Text>
            <Radio.Group label={t("where.label")} value={choice} onChange={setChoice}>
              <Stack gap="xs" mt="xs">
                <Radio value="/public_html" label={t("where.site")} description={t("where.site_hint")} />
                <Radio value="/" label={t("where.home")} description={t("where.home_hint")} />
              </Stack>
            </Radio.Group>
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                {t("cancel")}
              </Button>
              <Button type="submit" data-autofocus>
                {t("upload")}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    );
  }
  if (error) {
    return (
      <Modal opened onClose={onClose} title={t("upload")}>
        <ErrorNote error={error} />
      </Modal>
    );
  }
  if (!found) return null;
  const { files, clashes } = found;
  return (
    <Modal opened onClose={onClose} title={t("conflict.title", { count: files.length + clashes.length })}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          uploads.add(plan(service, directory, dropped, found, answer));
          onClose();
        }}
      >
        <Stack>
          {files.length > 0 && (
            <>
              <ul className={classes.list}>
                {files.slice(0, 100).map((path) => (
                  <li key={path}>{path}</li>
                ))}
              </ul>
              <Radio.Group label={t("conflict.label")} value={answer} onChange={(value) => setAnswer(value as Answer)}>
                <Stack gap="xs" mt="xs">
                  <Radio value="replace" label={t("conflict.replace")} description={t("conflict.replace_hint")} />
                  <Radio value="both" label={t("conflict.both")} />
                  <Radio value="skip" label={t("conflict.skip")} />
                </Stack>
              </Radio.Group>
            </>
          )}
          {clashes.length > 0 && (
            <Alert color="orange" title={t("conflict.clash")}>
              <ul className={classes.list}>
                {clashes.map((path) => (
                  <li key={path}>{path}</li>
                ))}
              </ul>
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t("cancel")}
            </Button>
            <Button type="submit">{t("upload")}</Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
